"""What the static site shows, as plain data; `site/build.py` lays it out and Sphinx builds it."""

import inspect
import json
import re

import pandas as pd

import nlgjudge
from nlgjudge.data import sample
from nlgjudge.data.paths import root, use
from nlgjudge.data.registry import entries
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.repo import coverage

# The first of these in a notebook's name, and its heading in the table of contents.
GROUPS = {"": "Start"} | {key: name.split(" (")[0] for key, name in PAPERS.items() if not key.endswith("_v1")}
GROUPS |= {"beyond": "Beyond the papers", "ablation": "Ablations"}
BRIEF = GROUPS | {"geval_v1": "G-Eval v1", "chatgpt": "ChatGPT"}
COUNTS = ["exact", "close", "other", "not run"]


def notebooks():
    """Read the committed notebooks for the site.

    Returns
    -------
    dict of str to dict
        By name `group` (a key of `GROUPS`), `title`, `short` (without the paper's name), `leads` (the first
        sentence of each paragraph of the verdict), `benchmarks`, and `book`, the notebook itself with a
        description of each figure in its cell's metadata.
    """
    return {path.stem: _notebook(path) for path in sorted((root() / "notebooks").glob("*.ipynb"))}


def _notebook(path):
    book = json.loads(use(path).read_text(encoding="utf-8"))
    group = next((part for part in path.stem.split("_") if part in GROUPS), "")
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]]
    prose = [text for kind, text in cells if kind == "markdown"]
    title = heading = prose[0].split("\n")[0].lstrip("# ").replace("`", "")
    for number, (kind, text) in enumerate(cells):
        if kind == "markdown":
            heading = [heading, *re.findall(r"^##+ (.*)", text, re.M)][-1]
        elif any("image/png" in out.get("data", {}) for out in book["cells"][number].get("outputs", [])):
            after = next((text for kind, text in cells[number + 1:] if kind == "markdown"), "#")
            alt = "" if after.startswith("#") else re.sub(r"[`*$]", "", after.split("\n\n")[0])
            book["cells"][number]["metadata"]["mystnb"] = {
                "image": {"alt": f"Figure, {heading}. {alt}".strip().replace("\n", " ")}}
    short = re.sub(r"^(G-Eval|ChatGPT study|DHP|CoAScore), |^Beyond (the papers|DHP): ", "", title)
    verdict = prose[1] if len(prose) > 1 and prose[1].startswith("**") else ""
    return {"group": group, "title": title, "short": short[0].upper() + short[1:],
            "leads": [re.split(r"(?<=\w\w\w\.)\s+(?=[A-Z*])", p)[0] for p in verdict.split("\n\n")],
            "benchmarks": book["metadata"].get("nlgjudge", {}).get("benchmarks", []), "book": book}


def _covering(paper, artefact, books):
    """Notebooks whose name holds a printed table or figure."""
    return [name for name, book in books.items()
            if book["group"] == paper.removesuffix("_v1") and artefact in name.split("_")[1:]]


def cells(rows, books):
    """Lay the ledger out as the site's table.

    Parameters
    ----------
    rows : pandas.DataFrame
        The ledger.
    books : dict
        From `notebooks`.

    Returns
    -------
    pandas.DataFrame
        Strings; `notebook` is a list of names: the one that ran the cell, else those of its table.
    """
    keys = list(zip(rows["paper"], rows["artefact"]))
    run_by = {key: _covering(*key, books) for key in set(keys)}
    interval = [f"{low:.2f} to {high:.2f}" if low == low else ""
                for low, high in zip(rows["ci_low"], rows["ci_high"])]
    return pd.DataFrame({
        "paper": rows["paper"].map(BRIEF), "table": rows["artefact"].str.replace("table", "Table "),
        **{c: rows[c] for c in ("row", "dataset", "aspect", "level", "coefficient")},
        "printed": rows["published"], "ours": [f"{v:.3f}" if v == v else "" for v in rows["ours"]],
        "interval": interval, "verdict": rows["verdict"].str.replace("_", " "),
        "evidence": rows["evidence"].str.replace("_", " "),
        "notebook": [[n] if n in books else run_by[k] for n, k in zip(rows["notebook"], keys)],
        "note": rows["note"]}).fillna("")


def paper(key, rows, books):
    """What of a paper reproduces.

    Parameters
    ----------
    key : str
        A paper's key; G-Eval's two versions are one paper.
    rows, books
        As for `cells`.

    Returns
    -------
    dict
        `findings` (Markdown) and `artefacts`, a list of dict in the paper's order: `label, what, status`
        (`reproduced`, `partly`, `needs`, `nothing to compute`), `needs`, `notebooks`, and of a table of
        correlations `versions` (label and counts) and `missing` (note, rows, cells).
    """
    listed = pd.read_csv(use(root() / "site" / "artefacts.csv"), keep_default_na=False, dtype=str)
    rows, found = rows[rows["paper"].str.removesuffix("_v1") == key], []
    for item in listed[listed["paper"] == key].to_dict("records"):
        names = _covering(key, item["artefact"], books) or [n for n in [item["notebook"]] if n in books]
        printed = rows[rows["artefact"] == item["artefact"]]
        found.append({**item, "notebooks": names, "label": re.sub(r"(\d+)", r" \1", item["artefact"]).title(),
                      "versions": [], "missing": [], **(_table(printed) if len(printed) else {})})
    return {"findings": coverage.findings(rows, most=99), "artefacts": found}


def _table(printed):
    """Status of a printed table, from its cells."""
    counts = coverage.by_table(printed).reset_index()
    full = printed[printed["published"] != ""]
    ran = full["verdict"] != "not_run"
    missing = [(note, list(dict.fromkeys(part["row"])), len(part))
               for note, part in full[~ran].groupby("note", sort=False)]
    done = full["verdict"].isin(coverage.AGREES).all()
    return {"status": "reproduced" if done else "partly" if ran.any() else "needs", "missing": missing,
            "needs": "; ".join(note for note, *_ in missing),
            "versions": [(BRIEF[c["paper"]], c) for c in counts.to_dict("records")]}


def benchmarks(rows, books):
    """What a page about each benchmark shows.

    Parameters
    ----------
    rows, books
        As for `cells`.

    Returns
    -------
    list of dict
        `benchmark, title, task, documents, items, judged, cite` as listed in `site/benchmarks.csv`; `files`
        by role and source; `tables` and `notebooks` that use it; `aspects`, and `example`: the first
        document of the sample that stands in for it, with mean ratings.
    """
    listed = pd.read_csv(use(root() / "site" / "benchmarks.csv"), keep_default_na=False, dtype=str)
    readme = (root() / "data" / "README.md").read_text(encoding="utf-8")
    sources, pages = dict(re.findall(r"^\| (\w+) \| ([^;|]*)", readme, re.M)), []
    keys, files = ["role", "repository", "commit", "licence", "citation"], pd.DataFrame(entries())
    for item in listed.to_dict("records"):
        name = item["benchmark"]
        own = files[files["benchmark"] == name.removesuffix("_crowd")]
        own = own.groupby(keys).size().reset_index(name="n")
        tables = rows.loc[rows["dataset"] == name, ["paper", "artefact"]].drop_duplicates()
        found = sample.read(name)
        first = found.items[found.items["doc_id"] == found.items["doc_id"].iloc[0]]
        means = found.ratings.groupby(["item_id", "aspect"], sort=False)["score"].mean().round(1)
        texts = [{**text, "marks": {a: means[text["item_id"], a] for a in found.aspects
                                    if (text["item_id"], a) in means}} for text in first.to_dict("records")]
        pages.append({**item, "files": own.assign(source=own["citation"].map(sources)).to_dict("records"),
                      "tables": [(PAPERS[p], p.removesuffix("_v1"), a[:5], a[5:]) for p, a in tables.values],
                      "notebooks": [n for n, book in books.items() if name in book["benchmarks"]],
                      "aspects": found.aspects, "example": texts})
    return pages


def _documented(value, name):
    if not inspect.isclass(value):
        return "function", name, ""
    return "class", name, ", ".join(getattr(value, "_fields", ()))


def api():
    """Public names by namespace and module.

    Returns
    -------
    dict of str to dict
        By namespace (`data` for `nj.data`, `geval` for `nj.geval`), by module, a list of (`function` or `class`,
        name, fields): a tuple's fields are described with the class and not once more by themselves.
    """
    spaces = {}
    for space in nlgjudge.__all__:
        offered = getattr(nlgjudge, space)
        if not inspect.ismodule(offered) or offered is nlgjudge.papers or not hasattr(offered, "__all__"):
            continue
        for name in offered.__all__:
            value = getattr(offered, name)
            if callable(value):
                home = value.__module__.removeprefix("nlgjudge.")
                spaces.setdefault(space, {}).setdefault(home, []).append(_documented(value, name))
    for module in (nlgjudge.figures, nlgjudge.studies.your_own_data):
        home = module.__name__.removeprefix("nlgjudge.")
        own = [(name, value) for name, value in vars(module).items()
               if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")]
        spaces[home.split(".")[0]][home] = [_documented(value, name) for name, value in own]
    return spaces
