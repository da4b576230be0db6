"""What CONTRIBUTING.md promises: a benchmark, a judge and a paper, each in less than 30 added lines.

The changes are made in a copy of the repository; another process works with what it then holds.
Three documents of three systems, with numbers small enough to correlate by hand.
"""

import json
import os
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from loopback import Loopback, completion
from nlgjudge.data.registry import blob_id
from nlgjudge.ledger.printed import tables

REPOSITORY = Path(__file__).resolve().parents[1]
LIMIT = 30  # lines, blank ones not counted
NOTEBOOK = "notebooks/headline_table1.ipynb"

# Within each document people prefer system c to b and b to a. Spearman and Kendall's tau-b of three points:
# the same order 1 and 1, one neighbouring pair exchanged 1/2 and 1/3, reversed -1 and -1.
OVERLAP = {
    "d1": (1, 2, 3),
    "d2": (1, 3, 2),
    "d3": (3, 2, 1),
}  # (1 + 1/2 - 1) / 3 and (1 + 1/3 - 1) / 3
WORDS = {
    "d1": (1, 2, 3),
    "d2": (2, 4, 5),
    "d3": (2, 1, 5),
}  # (1 + 1 + 1/2) / 3 and (1 + 1 + 1/3) / 3
UPSTREAM = json.dumps(
    [
        {
            "id": doc,
            "system": system,
            "article": f"The article {doc}.",
            "headline": "word " * WORDS[doc][i],
            "rating": i + 1,
            "overlap": OVERLAP[doc][i],
        }
        for doc in WORDS
        for i, system in enumerate("abc")
    ]
).encode()

# A file, the start of the line after which lines are added (None: at the end, or new), and the lines.
BENCHMARK = [
    (
        "data/registry.csv",
        None,
        "headlines,data,owner/headlines,c0ffee,ratings.json,"
        f"{blob_id(UPSTREAM)},{len(UPSTREAM)},CC0-1.0,nobody2024headlines\n",
    ),
    (
        "src/nlgjudge/data/headlines.py",
        None,
        '''"""Reader for headlines rated by readers."""

import json

from nlgjudge.data import fetch
from nlgjudge.data.registry import entries
from nlgjudge.data.schema import build


def read(name):
    """Read three articles with three headlines each, and a released score."""
    entry, = entries(name, role="data")
    items, ratings, scores = [], [], []
    for row in json.loads(fetch.read(entry)):
        key = f"{row['id']}/{row['system']}"
        items.append((key, row["id"], row["system"], row["article"], row["headline"], [], ""))
        ratings.append((key, "coherence", "mean", row["rating"]))
        scores.append((key, "overlap", "", row["overlap"], "", "released_scores"))
    return build(name, items, ratings, scores, files={entry.path: entry.blob}, expect=(3, 9))
''',
    ),
    ("src/nlgjudge/data/benchmarks.py", "READERS = {", '    "headlines": "headlines:read",\n'),
    (
        "src/nlgjudge/data/benchmarks.py",
        "        - ``iwslt14``",
        "        - ``headlines``: headlines of news, rated\n",
    ),
    ("data/sample/rubric.csv", None, "headlines,summarization,coherence,coherence,1,5,4\n"),
    ("data/README.md", "|---|", "| nobody2024headlines | Nobody: Headlines (2024) | CC0-1.0 |\n"),
    (
        "data/citations.bib",
        None,
        "@misc{nobody2024headlines,\n  title = {Headlines},\n  author = {Nobody},\n"
        "  year = {2024},\n  keywords = {benchmark:headlines, paper:headline},\n}\n",
    ),
    (
        "site/benchmarks.csv",
        None,
        "headlines,Headlines,headlines of news,3,9,by one reader,Nobody 2024\n",
    ),
]
JUDGE = '''
from nlgjudge.judging.tasks import Reply


class Words:
    """Rate a text by its number of words."""

    name = "words"

    def replies(self, tasks):
        for task in tasks:
            for index in range(task.n):
                yield Reply(task.item_id, task.aspect, index, str(len(task.fields["hypothesis"].split())))
'''
TABLE = "\n".join(
    [
        "row,dataset,aspect,level,coefficient,printed,note",
        "Overlap,headlines,coherence,sample,spearman,0.167,",
        "Overlap,headlines,coherence,sample,kendall,0.111,",
        "Judge,headlines,coherence,sample,spearman,0.833,",
        "Judge,headlines,coherence,sample,kendall,0.700,",
        "",
    ]
)
CELLS = [  # of the notebook
    ("markdown", "# Headlines, Table 1: does overlap agree with readers?"),
    (
        "markdown",
        "**What does not match:** nothing was tried for the judge. **What matches:** overlap.",
    ),
    ("code", "import nlgjudge as nj"),
    ("markdown", "## Settings"),
    ("code", 'source = "auto"  # auto, real or sample', "parameters"),
    ("markdown", "## Overlap against readers"),
    (
        "code",
        """headlines = nj.load("headlines", source)
released = headlines.released().reindex(columns=["item_id", "overlap"])
values = nj.correlation_table(headlines.with_scores(released), ["overlap"], ["coherence"],
                              coefficients=("spearman", "kendall"), dataset="headlines")
ledger = nj.compare("headline", "table1", nj.published("headline", "table1"), values.assign(row="Overlap"),
                    evidence="released_scores", notebook="headline_table1", sample=headlines.is_sample)
nj.ledger.write(ledger)
nj.ledger.side_by_side(ledger)""",
    ),
    ("markdown", "Overlap orders two of three articles at least in part."),
    ("code", "nj.signature(headlines)", "nbval-ignore-output"),
]
PAPER = [
    ("paper_tables/published/headline_table1.csv", None, TABLE),
    (
        "paper_tables/needs.csv",
        None,
        "headline,*,Judge,its replies were not released\n"
        "headline,*,*,nothing more: the scores were released\n",
    ),
    (
        "src/nlgjudge/papers/headline/__init__.py",
        None,
        '"""Headlines (Nobody 2024)."""\n\nVERSIONS = {"headline": "Headlines"}\n',
    ),
    ("site/artefacts.csv", None, "headline,table1,agreement with readers on headlines,,,\n"),
    ("site/papers.csv", None, "headline,arXiv,https://arxiv.org/abs/0000.00000\n"),
]


def lines(change):
    return sum(len([line for line in text.splitlines() if line.strip()]) for *_, text in change)


class House:
    """A copy of the repository that a contributor changes, with the upstream file in its cache."""

    def __init__(self, folder, served):
        self.folder = folder
        self.served = served
        for name in ("src/nlgjudge", "data/sample", "paper_tables/published"):
            shutil.copytree(
                REPOSITORY / name, folder / name
            )  # compiled modules too: their times are copied
        for name in (
            "data/registry.csv",
            "data/README.md",
            "data/citations.bib",
            "paper_tables/needs.csv",
            "paper_tables/reach.csv",
            "site/artefacts.csv",
            "site/papers.csv",
            "paper_tables/README.md",
            "site/benchmarks.csv",
            "README.md",
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, folder / name)
        self.upstream = (
            folder / "data" / "cache" / "owner" / "headlines" / "c0ffee" / "ratings.json"
        )
        self.upstream.parent.mkdir(parents=True)
        self.upstream.write_bytes(UPSTREAM)

    def change(self, change):
        for name, after, new in change:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            old = path.read_text("utf-8") if path.exists() else ""
            end = re.search(f"^{re.escape(after)}.*\n", old, re.M).end() if after else len(old)
            path.write_text(old[:end] + new + old[end:], encoding="utf-8")

    def python(self, code, **environment):
        """Run code in a process that imports the copy; return what it prints last, as JSON."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            for name in [name for name in os.environ if name.startswith(("NLGJUDGE_", "OPENAI_"))]:
                patch.delenv(name)
            done = self.served.run(
                "-c",
                code,
                **{
                    "NLGJUDGE_ROOT": str(self.folder),
                    "PYTHONPATH": str(self.folder / "src"),
                    "NLGJUDGE_OFFLINE": "1",
                    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
                    **environment,
                },
            )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def house(tmp_path_factory, served):
    """A copy with the benchmark, the paper and its notebook."""
    made = House(tmp_path_factory.mktemp("house"), served)
    made.change([*BENCHMARK, *PAPER])
    cells = []
    for kind, source, *tags in CELLS:
        make = new_code_cell if kind == "code" else new_markdown_cell
        cells.append(make(source, metadata={"tags": tags} if tags else {}))
    (made.folder / "notebooks").mkdir()
    nbformat.write(
        new_notebook(
            cells=cells,
            metadata={
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                "nlgjudge": {"benchmarks": ["headlines"], "recordings": []},
            },
        ),
        made.folder / NOTEBOOK,
    )
    return made


def test_a_benchmark(house):
    """Loaded, judged, correlated, replaced by the sample where it cannot be had, and shown on the site."""
    found = house.python("""
import json, nlgjudge as nj
from nlgjudge.repo import site
made = nj.load("headlines", "real")
judged = nj.item_scores(nj.judge_items(made.items, ["geval/summarization/coherence"], "surface"))
scores = made.with_scores(made.released().merge(nj.judging.wide({"surface": judged})))
table = nj.correlation_table(scores, ["overlap"], ["coherence"], coefficients=("spearman", "kendall"))
page, = (p for p in site.benchmarks(nj.ledger.all_published(), {}) if p["benchmark"] == "headlines")
print(json.dumps({"notice": made.notice, "scored": int(scores.notna().all(axis=1).sum()),
                  "overlap": table["ours"].tolist(), "cite": nj.signature(made, prompts=["geval/x"])["cite"],
                  "page": [page["aspects"], page["files"][0]["source"].strip(), page["files"][0]["n"]]}))
""")
    assert lines(BENCHMARK) < LIMIT
    assert (found["notice"], found["scored"]) == ("", 9)
    assert found["cite"] == "liu2023geval, nobody2024headlines"
    assert found["overlap"] == pytest.approx([1 / 6, 1 / 9])
    assert found["page"] == [["coherence"], "Nobody: Headlines (2024)", 1]
    house.upstream.rename(house.upstream.with_suffix(".away"))
    try:
        notice = house.python(
            "import json, nlgjudge as nj; print(json.dumps(nj.load('headlines').notice))"
        )
    finally:
        house.upstream.with_suffix(".away").rename(house.upstream)
    assert notice == "sample data, not comparable with the papers"


LEDGER = """
import json, nlgjudge as nj
from nlgjudge.ledger import ledger
made = nj.load("headlines", "real")
judged = nj.judge_items(made.items, ["geval/summarization/coherence"], JUDGE)
scores = made.with_scores(nj.judging.wide({"judge": nj.item_scores(judged)}))
ours = nj.correlation_table(scores, ["judge:coherence"], ["coherence"], coefficients=("spearman", "kendall"),
                            dataset="headlines").assign(row="Judge", note="another judge than the paper's")
rows = nj.compare("headline", "table1", nj.published("headline", "table1"), ours,
                  evidence="substitute_judge", judge=JUDGE, notebook="judge")
merged = ledger.merge([nj.ledger.write(rows)]).query("paper == 'headline'").set_index(["row", "coefficient"])
print(json.dumps([[*merged.loc["Judge"].loc[c, ["ours", "verdict", "evidence"]]]
                  for c in ("spearman", "kendall")] + merged.loc["Overlap", "verdict"].tolist()))
"""


def check_judged(found):
    """Spearman as printed, Kendall 0.078 away from the print; the row that nobody ran stays so."""
    spearman, kendall, *overlap = found
    assert spearman[0] == pytest.approx(5 / 6, abs=1e-6) and kendall[0] == pytest.approx(
        7 / 9, abs=1e-6
    )
    assert spearman[1:] == ["exact", "substitute_judge"] and kendall[1:] == [
        "differs",
        "substitute_judge",
    ]
    assert overlap == ["not_run", "not_run"]


def test_a_judge(house, tmp_path):
    """Any object with `replies` rates, and its cells reach the ledger."""
    assert lines([("", None, JUDGE)]) < LIMIT
    check_judged(
        house.python(JUDGE + LEDGER.replace("JUDGE", "Words()"), NLGJUDGE_OUT=str(tmp_path))
    )


def test_a_served_model_is_a_judge_without_any_change(house, tmp_path):
    def answer(number, where, body):
        return completion([str(json.loads(body)["messages"][0]["content"].count("word "))])

    with Loopback(answer) as server:
        check_judged(
            house.python(
                LEDGER.replace("JUDGE", "'openai:counter'"),
                NLGJUDGE_OUT=str(tmp_path),
                OPENAI_API_KEY="none",
                OPENAI_BASE_URL=server.url,
                NO_PROXY="127.0.0.1",
            )
        )
    assert len(server.requests) == 9 and {json.loads(r)["model"] for r in server.requests} == {
        "counter"
    }


def test_a_paper(house):
    """Its notebook fills the ledger, the README and the site, and keeps the rules for notebooks."""
    assert lines(PAPER) + sum(len(source.splitlines()) for _, source, *_ in CELLS) < LIMIT
    found = house.python(
        f"""
import json
from nlgjudge.repo.cli import main
from nlgjudge.ledger import ledger
from nlgjudge.repo import site
executed = "build/executed/headline_table1.ipynb"
status = [main(["resolve"]), main(["run", "{NOTEBOOK}", "-o", executed]), main(["finish"]), main(["refresh"])]
rows = ledger.read(site.root() / "paper_tables" / "ledger.csv")
page = site.paper("headline", rows, site.notebooks())["artefacts"]
line, = (one for one in site.at_a_glance(rows, site.notebooks()) if one["label"] == "Headlines")
own = rows[rows["paper"] == "headline"]
print(json.dumps({{"status": status, "cells": own[["row", "verdict", "note"]].values.tolist(),
                   "page": [[p["status"], p["notebooks"], p["missing"]] for p in page],
                   "line": [line["verdict"], [place["where"] for place in line["printed"]]],
                   "ran": sorted({{*rows.loc[rows["ours"].notna(), "paper"]}})}}))
""",
        NLGJUDGE_OUT=str(house.folder / "build" / "results"),
    )
    assert found["status"] == [0, 0, 0, 0] and found["ran"] == ["headline"]
    needs = "its replies were not released"
    assert found["cells"] == [["Overlap", "exact", ""]] * 2 + [["Judge", "not_run", needs]] * 2
    assert found["page"] == [["partly", ["headline_table1"], [[needs, ["Judge"], 2]]]]
    assert found["line"] == ["exact or close: 2 of 2 cells compared; not run: 2", ["arXiv"]]
    link = "[headline_table1](../notebooks/headline_table1.ipynb)"
    for name, line in (
        ("paper_tables/README.md", f"| Headlines | 1 | 4 | 2 | 0 | 0 | 0 | 2 | {link} |"),
        ("README.md", "| Headlines | 4 | 2 | 0 | 0 | 0 | 2 |"),
    ):
        assert line in (house.folder / name).read_text("utf-8")
    rules = house.served.run(
        "-c",
        "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:nbval",
        str(REPOSITORY / "tests" / "test_notebook_rules.py"),
        NLGJUDGE_ROOT=str(house.folder),
        PYTHONPATH=str(house.folder / "src"),
    )
    assert rules.returncode == 0 and "passed" in rules.stdout, rules.stdout


def test_a_table_of_an_unnamed_paper_says_where_to_name_it(tmp_path, monkeypatch):
    folder = tmp_path / "paper_tables" / "published"
    folder.mkdir(parents=True)
    (folder / "headline_table1.csv").write_text(TABLE, encoding="utf-8")
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    with pytest.raises(
        ValueError, match="printed tables of headline: expected one of geval, .*VERSIONS"
    ):
        tables()


def test_what_contributing_names_exists():
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    paths = {
        p for p in re.findall(r"`([\w./]+/[\w./]*)`", text) if "NAME" not in p and "PAPER" not in p
    }
    assert len(paths) > 10 and not [p for p in paths if not (REPOSITORY / p).exists()]
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    targets = re.findall(r"\bmake ([a-z]+)", text)
    assert targets and not [t for t in targets if f"\n{t}:" not in makefile]
