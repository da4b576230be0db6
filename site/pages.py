"""Pages that the site makes from committed results: one for each published table, the questions, and the judges."""

import json
import re
from pathlib import Path

import itables
import pandas as pd
from itables.javascript import generate_init_offline_itables_html

import nlgjudge as nj
from nlgjudge.data.paths import root
from nlgjudge.ledger.known_judges import judges
from nlgjudge.ledger.ledger import anchor, cell_counts, committed
from nlgjudge.ledger.printed import tables
from nlgjudge.ledger.verdicts import titled
from nlgjudge.notebook.sentences import verdict

CELL = ["dataset", "level", "aspect", "coefficient"]
JUDGES = "judge benchmark aspect agreement kind level coefficient people tokens prompt replies date source note"
MOST = 12  # judges of a benchmark in the page's first tables
# Benchmarks by task, one aspect of them where the task is about it.
TASKS = {
    "Summaries": ["summeval", "newsroom", "realsumm"],
    "Is a summary consistent with its article?": ["summeval:consistency", "qags_cnn", "qags_xsum"],
    "Replies in a dialogue": ["topical_chat"],
    "Stories": ["openmeva"],
    "Sentences from data": ["bagel"],
    "Which of two outputs follows the instruction?": ["natural", "adversarial"],
}
BUNDLE = Path(itables.__file__).parent / "html" / "dt_bundle.js"
# Lines of the index's first output: a question, its place there, and the short answer.
QUESTION = re.compile(r"^- \[(?P<question>[^\]]+)\]\(#(?P<place>[^)]+)\) (?P<answer>.*)$", re.M)


def write(site):
    """Write all pages into the folder of the site's source."""
    (site / "tables").mkdir(exist_ok=True)
    for paper, artefact in tables():
        path = site / "tables" / f"{paper}_{artefact}.md"
        path.write_text(_table_page(paper, artefact), encoding="utf-8")
    (site / "tables" / "index.md").write_text(_list_of_tables(), encoding="utf-8")
    (site / "questions.md").write_text(_questions_page(), encoding="utf-8")
    _judges_page(site)
    _home(site)


def _judges_page(site):
    """The judges by task, then all of them to search and sort."""
    prompts = pd.read_csv(root() / "site" / "prompts.csv", keep_default_na=False)
    known = judges()
    known["agreement"] = nj.ledger.with_interval(known, "value")
    known = known.round(3).assign(prompt=known["prompt"].map(prompts.set_index("prompt")["words"]))
    known["tokens"] = [
        "–" if pd.isna(read) else f"{read:,.0f} + {written:,.0f}"
        for read, written in zip(known["prompt_tokens"], known["completion_tokens"])
    ]
    parts = []
    for task, names in TASKS.items():
        parts.append(f"## {task}")
        for name in names:
            benchmark, _, aspect = name.partition(":")
            parts += _best(known[known["benchmark"] == benchmark], benchmark, aspect)
    page = site / "judges.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<!-- tables -->", "\n\n".join(parts)), encoding="utf-8")
    known = known.sort_values("value", ascending=False)[JUDGES.split()].astype(object).fillna("")
    table = sortable(known, on_demand=["note"], search={"search": "summeval AVG"})
    (site / "judges_table.html").write_text(table, encoding="utf-8")


def _best(known, name, aspect):
    """The judges of a benchmark at the level at which most have a value, the best ones first."""
    rows = known[known["coefficient"].isin(["spearman", "accuracy"])]
    aspect = aspect or ("AVG" if (rows["aspect"] == "AVG").any() else rows["aspect"].mode()[0])
    rows = rows[rows["aspect"] == aspect]
    level = rows["level"].mode()[0]
    rows = rows[rows["level"] == level].sort_values("value", ascending=False)
    what = "mean over aspects" if aspect == "AVG" else aspect.replace("_", " ")
    more = f", the first {MOST} of {len(rows)}" if len(rows) > MOST else ""
    yield f"**{titled(name)}**: {titled(rows['coefficient'].iloc[0])}, {level} level, {what}{more}."
    columns = ["judge", "prompt", "agreement", "kind", "tokens", "replies", "source"]
    lines = [columns, ["---"] * len(columns)]
    lines += [[_plain(str(one)) for one in row] for row in rows[columns].head(MOST).to_numpy()]
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
    asked = known[["judge", "prompt"]].agg(" ".join, axis=1)
    without = asked[~asked.isin(asked[rows.index])].nunique()
    if without:
        yield (
            f"{without} more judges with their prompts have another level, coefficient or aspect only "
            "([all judges](#all-judges-aspects-and-coefficients))."
        )


def _list_of_tables():
    """Contents of the pages of tables."""
    pages = "\n".join(
        f"{nj.papers.titles()[paper]}, {titled(artefact)} <{paper}_{artefact}>"
        for paper, artefact in tables()
    )
    return f"# Tables, row by row\n\n```{{toctree}}\n:maxdepth: 1\n\n{pages}\n```\n"


def sortable(rows, on_demand, **settings):
    """A table that readers sort and search, with all that it needs; some columns are shown on demand."""
    hidden = {"targets": [rows.columns.get_loc(name) for name in on_demand], "visible": False}
    table = itables.to_html_datatable(
        rows,
        connected=False,
        showIndex=False,
        maxBytes=0,
        pageLength=25,
        columnDefs=[hidden],
        layout={"topStart": {"buttons": [{"extend": "colvis", "text": "Columns"}]}},
        **settings,
    )
    return generate_init_offline_itables_html(BUNDLE) + table


def _table_page(paper, artefact):
    """A published table with ours, then a section for each row, which has an address of its own."""
    table = nj.Table(paper, artefact)[artefact]
    about = nj.paper(paper).artefacts[artefact]
    finding = nj.Finding(about.notebook)
    parts = [
        f"# {nj.papers.titles()[paper]}, {titled(artefact)}: {about.what}",
        _plain(verdict(table.cells)),
        f"Computed in [{finding.title}](../../notebooks/{about.notebook}.ipynb). "
        "A published value comes first, ours second ([what the words mean](../glossary.md)).",
        f"*{finding.question}* {finding.answer}" if finding.answer else "",
        _framed(table._repr_html_()),
        "## Row by row",
    ]
    for row, cells in table.cells.groupby("row", sort=False):
        parts += [f'<a id="{anchor(row)}"></a>', f"### {_plain(row)}", *_row(cells)]
    return "\n\n".join(parts) + "\n"


def _row(cells):
    """What a row's values rest on, and each of its cells."""
    for name in ("variant", "evidence", "note"):
        for text in dict.fromkeys(filter(None, cells[name].fillna("").replace("none", ""))):
            yield f"*{name.capitalize()}:* {_plain(text.replace('_', ' '))}"
    lines = ["| | published | ours | verdict |", "|---|---|---|---|"]
    ours = cells.dropna(subset="ours")
    shown = nj.ledger.with_interval(ours, digits=3).to_dict() if len(ours) else {}
    for place, cell in cells.iterrows():
        where = ", ".join(map(titled, cell[CELL]))
        line = [where, cell["published"] or "–", shown.get(place, "–"), titled(cell["verdict"])]
        lines.append(f"| {' | '.join(line)} |")
    yield "\n".join(lines)


def _home(site):
    """Put headline numbers, their picture and the first questions into the home page, in place of comments."""
    sums = cell_counts(committed().assign(paper="all")).loc["all"]
    questions = [f"- [{q}](questions.md#{name}) {a}" for name, q, a, *_ in _questions()][:5]
    page = site / "index.md"
    text = page.read_text(encoding="utf-8")
    place = "benchmark == 'summeval' and aspect == 'AVG' and level == 'sample' and coefficient == 'spearman'"
    expert = judges().query(place)["people"].max()
    picture = "A bar for each paper: the shares of its published cells that reproduce, differ or cannot be checked"
    headline = (
        "On SummEval, recorded judges agree with experts at "
        f"{nj.Finding('judges_by_paper').values['lowest and highest average']}, and one expert agrees with the others "
        f"at {expert:.2f} (mean Spearman within articles, [judges](../notebooks/judges_by_paper.ipynb)).\n\n"
        f"**{sums['reproduces']:,} of {sums['cells']:,} published numbers reproduce.** {sums['differs']} differ, "
        f"{sums['contradicts itself']} contradict themselves, {sums['by others']} are known by others only, and "
        f"{sums['not checkable']:,} are not checkable ([the words](glossary.md#cell)). G-Eval was published twice; DHP "
        f"publishes figures without numbers.\n\n![{picture}](../figures/00_index.png)"
    )
    text = text.replace("<!-- headline -->", headline)
    page.write_text(text.replace("<!-- questions -->", "\n".join(questions)), encoding="utf-8")


def _questions():
    """Anchor, question, short answer, place in the index and whole answer there, by question."""
    index = json.loads((root() / "notebooks" / "00_index.ipynb").read_text(encoding="utf-8"))
    printed = ["\n\n".join(map(_shown, cell.get("outputs", []))) for cell in index["cells"]]
    answers = [answer for text in printed for answer in text.split("<a name=")[1:]]
    anchors = pd.read_csv(root() / "site" / "questions.csv")["anchor"]
    for name, found in zip(anchors, QUESTION.finditer("\n".join(printed))):
        question, answer, place = found.group("question", "answer", "place")
        (whole,) = [text for text in answers if f"### {question}\n" in text]
        yield name, question, answer, place, whole.partition(f"### {question}\n")[2]


def _shown(output):
    """What a cell printed: Markdown, or a table in a box of its own."""
    text, table = (
        "".join(output.get("data", {}).get(f"text/{kind}", [])) for kind in ("markdown", "html")
    )
    return text or table and _framed(table)


def _framed(table):
    return f'```{{raw}} html\n<div class="nj-table">{table}</div>\n```'


def _questions_page():
    """Readers' questions under addresses that stay, with the index's answers."""
    parts = ["# Questions that readers bring"]
    for name, question, _, place, whole in _questions():
        more = f"[The code of this answer](../notebooks/00_index.ipynb#{place})"
        parts += [f"({name})=\n## {question}", whole.strip(), more]
    text = "\n\n".join(parts) + "\n"
    for name, _, _, place, _ in _questions():
        text = text.replace(f"](#{place})", f"](#{name})")
    return re.sub(r"\]\((?=\w+\.ipynb)", "](../notebooks/", text)


def _plain(text):
    """A text without the marks of Markdown."""
    return re.sub(r"([*_\[\]<>|`])", r"\\\1", text)
