"""The site: what its pages are made from, and the pages themselves."""

import inspect
import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from unittest import mock
from urllib.parse import unquote, urlsplit

import nbformat
import pandas as pd
import pytest

import nlgjudge
from nlgjudge.data import fetch
from nlgjudge.data.benchmarks import READERS, load
from nlgjudge.data.paths import root
from nlgjudge.ledger import ledger
from nlgjudge.ledger.printed import KEY, PAPERS, published
from nlgjudge.ledger.verdicts import OF_OTHERS
from nlgjudge.repo import cli, site

EXTRA = all(map(find_spec, ("sphinx", "myst_nb", "sphinx_book_theme", "latex2mathml")))
needs_sphinx = pytest.mark.skipif(not EXTRA, reason="the extra `site` is not installed")
REPOSITORY = {"NLGJUDGE_REPOSITORY": "https://example.org/group/nlgjudge"}
# Tables and figures that each paper prints.
PRINTED = {
    "geval": (3, 2),
    "chatgpt": (7, 1),
    "dhp": (3, 6),
    "coascore": (15, 4),
    "closer_look": (6, 0),
}


@pytest.fixture(scope="module")
def rows():
    return ledger.read(root() / "paper_tables" / "ledger.csv")


@pytest.fixture(scope="module")
def books():
    return site.notebooks()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The folder that Sphinx reads, written once for all tests."""
    folder = tmp_path_factory.mktemp("site") / "source"
    with mock.patch.dict(os.environ, REPOSITORY):
        runpy.run_path(str(root() / "site" / "build.py"))["write"](folder)
    return folder


@pytest.fixture(scope="module")
def built(source):
    """The folder of the built site; a warning of Sphinx is an error."""
    base = source.parent
    options = ["-q", "-W", "--keep-going", "-d", base / "doctrees", source, base / "html"]
    with mock.patch.dict(os.environ, REPOSITORY):
        status, said = sphinx(*map(str, options))
    assert status == 0, said
    return base / "html"


def sphinx(*options):
    """Build in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "sphinx", *options], capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


# ---- what the pages are made from


def test_another_models_verdicts_have_no_verdicts_colour(rows, source):
    """Cells of others carry the class of another model in place of their verdict's, which may mean failure."""
    text = (source / "ledger.md").read_text(encoding="utf-8")
    found = re.findall(r'class="verdict v-([\w-]+)">([^<]*)', text)
    another = rows["evidence"].isin(OF_OTHERS)
    words = rows["verdict"].str.replace("_", " ")
    assert [word for _, word in found] == words.tolist()
    wanted = words.str.replace(" ", "-").where(~another, "another-model")
    assert another.any() and [name for name, _ in found] == wanted.tolist()
    assert ".v-another-model" in (source / "_static" / "site.css").read_text(encoding="utf-8")


def test_every_notebook_is_taken_with_its_title_verdict_and_figures(books):
    assert set(books) == {p.stem for p in (root() / "notebooks").glob("*.ipynb")}
    assert books["chatgpt_table6_openmeva"]["group"] == "chatgpt"
    assert books["template_ablation"]["group"] == "ablation"
    for name, book in books.items():
        assert book["title"] and book["short"][0].isupper(), name
        nbformat.validate(nbformat.from_dict(book["book"]))
        for cell in book["book"]["cells"]:
            if any("image/png" in output.get("data", {}) for output in cell.get("outputs", [])):
                assert len(cell["metadata"]["mystnb"]["image"]["alt"]) > 30, name


def test_the_verdicts_first_sentences():
    book = site.notebooks()["chatgpt_table1_table4_summeval"]
    whole = "".join(book["book"]["cells"][1]["source"])
    assert 1 < len(book["leads"]) == whole.count("\n\n") + 1
    assert all(lead in whole and lead.endswith(".") for lead in book["leads"])


def part(verdicts):
    """G-Eval's Table 2, of which some cells have these verdicts and the others were lost in print."""
    table = published("geval", "table2").head(6)
    assert len(verdicts) <= 6
    found = table[KEY].assign(
        paper="geval",
        artefact="table2",
        published="0.1",
        ours=0.1,
        verdict="exact",
        notebook="",
        note="",
        variant="",
        evidence="recomputed",
    )
    for column in ("ci_low", "ci_high", "n", "n_skipped", "difference"):
        found[column] = float("nan")
    found["verdict"] = [*verdicts, *["not_run"] * (6 - len(verdicts))]
    found["published"] = ["0.1"] * len(verdicts) + [""] * (6 - len(verdicts))
    found["note"] = ["needs a model" if v == "not_run" else "because" for v in found["verdict"]]
    return found


@pytest.mark.parametrize(
    "verdicts, status, missing",
    [
        (["exact", "close", "relabelled", "sign_flipped"], "reproduced", 0),
        (["exact", "differs"], "partly", 0),
        (["exact", "not_run", "not_run"], "partly", 2),
        (["not_run"], "needs", 1),
    ],
)
def test_status_of_a_table_from_its_cells(verdicts, status, missing, books):
    artefacts = site.paper("geval", part(verdicts), books)["artefacts"]
    found = next(a for a in artefacts if a["artefact"] == "table2")
    assert found["status"] == status and found["notebooks"] == ["geval_table2_topical_chat"]
    assert sum(n for *_, n in found["missing"]) == missing
    ((label, counts),) = found["versions"]
    assert label == "G-Eval" and counts["cells"] == len(verdicts)


def test_a_cell_that_was_not_run_links_to_its_tables_notebook(books):
    frame = part(["exact", "not_run"]).assign(ours=[0.12345, *[float("nan")] * 5])
    cells = site.cells(frame, books)
    assert set(map(tuple, cells["notebook"])) == {("geval_table2_topical_chat",)}
    assert cells["ours"].tolist() == ["0.123", *[""] * 5] and cells["table"].unique().tolist() == [
        "Table 2"
    ]


def test_coverage_names_every_table_and_figure(rows, books):
    for paper, (tables, figures) in PRINTED.items():
        found = site.paper(paper, rows, books)["artefacts"]
        names = [a["label"] for a in found]
        assert sorted(names) == sorted(
            [f"Table {n + 1}" for n in range(tables)] + [f"Figure {n + 1}" for n in range(figures)]
        )
        for artefact in found:
            assert artefact["status"] in ("reproduced", "partly", "needs", "nothing to compute"), (
                artefact
            )
            if not artefact["versions"]:  # where the ledger does not say it
                assert bool(artefact["needs"]) == (artefact["status"] in ("partly", "needs"))
            assert all(name in books for name in artefact["notebooks"])
        listed = pd.read_csv(root() / "site" / "artefacts.csv", keep_default_na=False, dtype=str)
        listed = listed[listed["paper"] == paper]
        in_ledger = set(rows.loc[rows["paper"] == paper, "artefact"])
        assert set(listed.loc[listed["status"] == "", "artefact"]) == in_ledger
        assert set(listed["notebook"]) - {""} <= set(books)


def test_every_benchmark_has_source_example_and_use(rows, books):
    found = {b["benchmark"]: b for b in site.benchmarks(rows, books)}
    assert set(found) == set(READERS)
    free = {"story_cloze", "iwslt14"}  # no registered file
    for name, benchmark in found.items():
        assert all(f["source"] == f["source"] and f["licence"] for f in benchmark["files"])
        assert bool(benchmark["files"]) == (name not in free)
        assert benchmark["example"][0]["source"] and benchmark["example"][0]["hypothesis"]
    assert ("CoAScore", "coascore", "table", "4") in found["topical_chat"]["tables"]
    assert "geval_table2_topical_chat" in found["topical_chat"]["notebooks"]


@pytest.mark.parametrize("name", READERS)
def test_counts_of_a_benchmark_are_those_of_its_files(name, rows):
    try:
        items = load(name, "real").items
    except fetch.DataUnavailable as error:
        pytest.skip(str(error).split("\n")[0])
    listed = pd.read_csv(root() / "site" / "benchmarks.csv", index_col="benchmark").loc[name]
    assert (listed["documents"], listed["items"]) == (items["doc_id"].nunique(), len(items))


def test_the_api_has_every_public_name_once():
    spaces = site.api()
    for space, modules in spaces.items():
        names = [name for found in modules.values() for _, name, _ in found]
        assert len(names) == len(set(names))
        namespace = getattr(nlgjudge, space)
        offered = {name for name in namespace.__all__ if callable(getattr(namespace, name))}
        assert offered <= set(names)
    assert {
        "data",
        "metrics",
        "judging",
        "stats",
        "ledger",
        "studies",
        "geval",
        "dhp",
        "coascore",
    } <= set(spaces)
    assert ("class", "Simulated", "") in spaces["judging"]["judging.simulated"]
    prompts = {name: fields for _, name, fields in spaces["judging"]["judging.prompts"]}
    assert prompts["Prompt"].startswith("name, paper, source, exact")


def test_every_public_function_and_method_has_an_example():
    lacking = []
    for modules in site.api().values():
        for module, found in modules.items():
            home = import_module(f"nlgjudge.{module}")
            lacking += [
                (module, name)
                for kind, name, _ in found
                if kind == "function" and ">>> " not in inspect.getdoc(getattr(home, name))
            ]
    for name in ("human", "with_scores", "released", "datasets"):
        if ">>> " not in inspect.getdoc(getattr(nlgjudge.data.Benchmark, name)):
            lacking.append(("data.schema", name))
    everyday = [getattr(nlgjudge, name) for name in nlgjudge.__all__]
    lacking += [
        value.__name__
        for value in everyday
        if inspect.isfunction(value) and ">>> " not in inspect.getdoc(value)
    ]
    assert len(everyday) > 20 and not lacking


def test_every_paper_is_named_with_where_it_can_be_read():
    """A paper that is added gets a row in `site/papers.csv`."""
    places = site.publications()
    assert set(places) == set(PAPERS)
    for printed in places.values():
        assert printed
        for place in printed:
            assert place["where"]
            assert re.fullmatch(
                r"https://(arxiv\.org/abs/[\d.]+(v\d)?|aclanthology\.org/[\w.-]+/)",
                place["address"],
            )


def test_a_papers_line_counts_its_cells(rows, books):
    lines = site.at_a_glance(rows, books)
    assert [line["label"] for line in lines] == list(PAPERS.values())
    for key, line in zip(PAPERS, lines):
        cells = rows[rows["paper"] == key]
        if len(cells):
            assert line["verdict"].endswith(f"; not run: {(cells['group'] == 'not run').sum():,}")
        else:
            artefacts = site.paper(line["page"], rows, books)["artefacts"]
            said, _, numbers = line["verdict"].partition(", ")
            assert said == f"no correlations printed; of {len(artefacts)} tables and figures"
            assert sum(map(int, re.findall(r": (\d+)", numbers))) == len(artefacts) > 5


def test_a_papers_verdict_leaves_other_models_apart(books):
    frame = part(["exact", "close", "differs", "exact", "exact"])
    frame["evidence"] = ["recomputed"] * 3 + ["substitute_judge", "other_run", "none"]
    (line,) = (line for line in site.at_a_glance(frame, books) if line["label"] == PAPERS["geval"])
    assert line["verdict"] == (
        "exact or close: 2 of 3 cells compared; another model's or run's: 2 more; not run: 0"
    )


def test_the_repositorys_address_is_the_projects_or_the_environments(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    monkeypatch.setenv("NLGJUDGE_ROOT", str(tmp_path))
    monkeypatch.delenv("NLGJUDGE_REPOSITORY", raising=False)
    assert site.repository() == ""
    monkeypatch.setenv("NLGJUDGE_REPOSITORY", "https://example.org/fork")
    assert site.repository() == "https://example.org/fork"
    (tmp_path / "pyproject.toml").write_text(
        '[project.urls]\nRepository = "https://example.org/it"\n'
    )
    assert site.repository() == "https://example.org/it"


def test_the_command_line_is_the_parsers(source):
    helps = site.command_line()
    assert "".join(helps[""].split()) == "".join(
        cli.parser().format_help().split()
    )  # whatever the width
    listed = re.findall(r"^    (\w+)(?: |$)", helps[""], re.M)
    assert (
        {"data", "judge", "rerun", "new"}
        <= set(listed)
        == {name.split()[0] for name in helps if name}
    )
    assert "data fetch" in helps and "replies export" in helps and "serve" not in helps
    page = (source / "guide" / "command_line.md").read_text("utf-8")
    for name, text in helps.items():
        assert text.startswith(f"usage: nlgjudge {name}".rstrip()) and text in page
    assert max(len(line) for text in helps.values() for line in text.splitlines()) <= 110


def test_the_first_page_is_short_and_made_from_the_ledger(source, rows, books):
    page = (source / "index.md").read_text("utf-8")
    shown = page.partition("```{toctree}")[0]
    assert shown.count("```{image}") == 1 and shown.count("{container} door\n") == 3
    for line in site.at_a_glance(rows, books):
        assert line["verdict"] in shown
        assert all(place["address"] in shown for place in line["printed"])
    assert not [
        book["title"]
        for book in books.values()
        if book["leads"] != [""] and book["leads"][0] in shown
    ]
    for (
        name,
        book,
    ) in books.items():  # the verdicts stand on the page of the paper, or of the questions beyond
        if book["group"] and book["leads"] != [""]:
            home = "papers/" if (source / "papers" / f"{book['group']}.md").exists() else ""
            said = (source / f"{home}{book['group']}.md").read_text("utf-8")
            assert f"notebooks/{name}.ipynb)\n\n{book['leads'][0][:40]}" in said


def test_the_ledger_is_handed_out_as_it_is_committed(source):
    assert "[ledger.csv](ledger.csv)" in (source / "ledger.md").read_text("utf-8")
    assert (source / "ledger.csv").read_bytes() == (
        root() / "paper_tables" / "ledger.csv"
    ).read_bytes()


# ---- the pages


class Links(HTMLParser):
    """What a page links to and loads, its anchors, and its images."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors, self.images = [], [], {""}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes.get("id"), attributes.get("name")}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag == "img":
            self.images.append((attributes.get("src", ""), attributes.get("alt", "")))
        loaded = attributes.get("src") or (attributes.get("href") if tag == "link" else None)
        self.loaded += [loaded] if loaded else []


@pytest.fixture(scope="module")
def parsed(built):
    return {
        path: Links(path) for path in sorted(built.rglob("*.html")) if "_static" not in path.parts
    }


@needs_sphinx
def test_links_resolve(built, parsed):
    wrong = []
    for path, found in parsed.items():
        for link in [*found.links, *found.loaded]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "data"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = parsed[target].anchors if target in parsed else {"", parts.fragment}
            if not target.is_file() or (unquote(parts.fragment) not in known):
                wrong.append((path.relative_to(built), link))
    assert len(parsed) > 50 and not wrong


@needs_sphinx
def test_pages_link_to_the_repository_and_the_papers(built, parsed):
    with mock.patch.dict(os.environ, REPOSITORY):
        address = site.repository()
    links = parsed[built / "index.html"].links
    assert links.count(address) == 2  # in the text, and as a sign that every page has
    assert address in parsed[built / "notebooks" / "00_tour.html"].links
    for key, printed in site.publications().items():
        addresses = {place["address"] for place in printed}
        assert addresses <= set(links) & set(
            parsed[built / "papers" / f"{key.removesuffix('_v1')}.html"].links
        )


@needs_sphinx
def test_nothing_is_loaded_from_elsewhere(built, parsed):
    foreign = [
        (path.name, link)
        for path, found in parsed.items()
        for link in found.loaded
        if urlsplit(link).scheme in ("http", "https") or link.startswith("//")
    ]
    assert not foreign
    styles = "".join(p.read_text("utf-8") for p in (built / "_static").rglob("*.css"))
    assert not re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//[^)]*", styles)


@needs_sphinx
def test_every_image_has_a_text_in_its_place(parsed):
    images = [(path.name, *image) for path, found in parsed.items() for image in found.images]
    assert len(images) > 10
    assert not [i for i in images if len(i[2]) < 20 or i[2].endswith((".png", ".svg"))]


@needs_sphinx
def test_no_page_shows_a_table_as_it_is_written(parsed):
    """A table of Markdown that was not understood stands there with its bars and dashes."""
    assert not [path.name for path in parsed if "|---" in path.read_text("utf-8")]


@needs_sphinx
def test_every_notebook_is_in_the_contents_and_formulas_are_drawn(built, parsed, books):
    contents = {link.split("#")[0] for link in parsed[built / "index.html"].links}
    assert {f"notebooks/{name}.html" for name in books} | {
        "ledger.html",
        "glossary.html",
    } <= contents
    text = (built / "notebooks" / "chatgpt_table6_openmeva.html").read_text("utf-8")
    assert "<mfrac>" in text and "\\frac" not in text.split("<math", 1)[1].split("</math>")[0]


@needs_sphinx
def test_benchmark_pages_show_the_sample_and_say_so(built):
    text = (built / "benchmarks" / "topical_chat.html").read_text("utf-8")
    assert (
        "Sample data, not comparable with the papers" in text
        and "An octopus has three hearts" in text
    )
