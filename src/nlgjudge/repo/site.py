"""What the static site shows, as plain data; `site/build.py` lays it out and Sphinx builds it."""

import inspect
import json
import os
import re
import tomllib
from unittest import mock

import pandas as pd

import nlgjudge
from nlgjudge import workflow
from nlgjudge.data import sample
from nlgjudge.data.paths import root, use
from nlgjudge.data.registry import entries
from nlgjudge.ledger import qra_records
from nlgjudge.ledger.average_audit import besides_misprint
from nlgjudge.ledger.counts import counts, group
from nlgjudge.ledger.ledger import CELL, kept_cells
from nlgjudge.ledger.printed import PAPERS, all_published
from nlgjudge.ledger.verdicts import MISPRINT, of_others, was_run
from nlgjudge.repo import cli

# The first of these in a notebook's name, and its heading in the table of contents.
_OF_PAPERS = {key: name.split(" (")[0] for key, name in PAPERS.items() if not key.endswith("_v1")}
GROUPS = {"": "Start", **_OF_PAPERS, "beyond": "Beyond the papers", "ablation": "Ablations"}
BRIEF = GROUPS | {"geval_v1": "G-Eval v1", "chatgpt": "ChatGPT"}
_SHORT_NAMES = "|".join(re.escape(name) for name in [*_OF_PAPERS.values(), "ChatGPT study"])
_PAPER_IN_TITLE = rf"^({_SHORT_NAMES}), |^Beyond (the papers|DHP): "
AGREES = ["exact", "close", "sign_flipped", "relabelled"]
# Ends of the names of benchmarks that are another one with its single raters.
_SINGLE_RATERS = re.compile(r"_(crowd|crowd_all|raters)$")


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
    group = _group(path.stem)
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]]
    prose = [text for kind, text in cells if kind == "markdown"]
    title = workflow.title(path.stem)
    _describe_figures(book, cells, title)
    short = re.sub(_PAPER_IN_TITLE, "", title)
    verdict = prose[1] if len(prose) > 1 and prose[1].startswith("**") else ""
    first_sentences = [
        re.split(r"(?<=\w\w\w\.)\s+(?=[A-Z*])", paragraph)[0] for paragraph in verdict.split("\n\n")
    ]
    return {
        "group": group,
        "title": title,
        "short": short[0].upper() + short[1:],
        "leads": first_sentences,
        "benchmarks": book["metadata"].get("nlgjudge", {}).get("benchmarks", []),
        "book": book,
    }


def _group(stem):
    """The key of `GROUPS` that stands first in a notebook's name; a key may hold an underscore itself."""
    name = f"_{stem}_"
    places = {key: name.find(f"_{key}_") for key in GROUPS if key}
    named = [key for key, place in places.items() if place >= 0]
    return min(named, key=places.get, default="")


def _describe_figures(book, cells, title):
    """Give each figure its heading and the paragraph behind it as a description, for who cannot see it."""
    heading = title
    for number, (kind, text) in enumerate(cells):
        cell = book["cells"][number]
        if kind == "markdown":
            heading = [heading, *re.findall(r"^##+ (.*)", text, re.M)][-1]
        elif any("image/png" in output.get("data", {}) for output in cell.get("outputs", [])):
            after = next((text for kind, text in cells[number + 1 :] if kind == "markdown"), "#")
            said = ""
            if not after.startswith("#"):
                said = re.sub(r"[`*$]", "", after.split("\n\n")[0])
            description = f"Figure, {heading}. {said}".strip().replace("\n", " ")
            cell["metadata"]["mystnb"] = {"image": {"alt": description}}


def _artefacts():
    """The papers' tables and figures with their notebooks, as `site/artefacts.csv` lists them."""
    return pd.read_csv(use(root() / "site" / "artefacts.csv"), keep_default_na=False, dtype=str)


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
    tables = list(zip(rows["paper"], rows["artefact"]))
    listed = _artefacts().set_index(["paper", "artefact"])["notebook"]
    covering = {
        (paper, artefact): [listed[paper.removesuffix("_v1"), artefact]]
        for paper, artefact in set(tables)
    }
    return (
        _printed_cells(rows)
        .assign(
            verdict=rows["verdict"].str.replace("_", " "),
            evidence=rows["evidence"].str.replace("_", " "),
            notebook=[
                [name] if name in books else covering[table]
                for name, table in zip(rows["notebook"], tables)
            ],
            note=rows["note"],
        )
        .fillna("")
    )


def judged_cells():
    """Lay the cells of kept judges out as a table of the site, a line for each printed cell and judge.

    Returns
    -------
    pandas.DataFrame
        Strings, in the order of the printed tables; no verdict, because no judge is the paper's own model.
    """
    rows = kept_cells()
    order = all_published()[CELL].reset_index().set_index(CELL)["index"]
    place = order.loc[list(rows[CELL].itertuples(index=False, name=None))].to_numpy()
    rows = rows.assign(place=place).sort_values(
        ["place", "judge"], kind="stable", ignore_index=True
    )
    laid_out = _printed_cells(rows)
    laid_out.insert(3, "judge", rows["judge"])
    return laid_out.assign(
        difference=rows["difference"].map("{:+.3f}".format),
        evidence=rows["evidence"].str.replace("_", " "),
        note=rows["note"],
    ).fillna("")


def reproducibility_records():
    """Read the committed records of reproducibility, in the papers' order.

    Returns
    -------
    list of dict
        As `paper_tables/reproducibility/schema.json` describes, with the words of the paper's `badge`.
    """
    folder = root() / "paper_tables" / qra_records.FOLDER
    found = []
    for paper in PAPERS:
        path = folder / f"{paper}.json"
        if path.is_file():
            record = json.loads(use(path).read_text(encoding="utf-8"))
            found.append({**record, "badge": qra_records.badge_words(record)})
    return found


def _printed_cells(rows):
    """The columns that say which cell it is, what is printed and what we have, as strings."""
    intervals = [
        "" if pd.isna(low) else f"{low:.2f} to {high:.2f}"
        for low, high in zip(rows["ci_low"], rows["ci_high"])
    ]
    return pd.DataFrame(
        {
            "row": rows["row"],  # the column that stays in view on a phone
            "paper": rows["paper"].map(BRIEF),
            "table": rows["artefact"].str.replace("table", "Table "),
            "dataset": rows["dataset"],
            "aspect": rows["aspect"],
            "level": rows["level"],
            "coefficient": rows["coefficient"],
            "printed": rows["published"],
            "ours": ["" if pd.isna(value) else f"{value:.3f}" for value in rows["ours"]],
            "interval": intervals,
        }
    )


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
        `artefacts`, a list of dict in the paper's order: `label, what, status`
        (`reproduced`, `partly`, `needs`, `nothing to compute`), `needs`, `notebooks`, and of a table of
        correlations `versions` (label and counts), `missing` (note, rows, cells) and `unrun` (rows).
    """
    listed = _artefacts()
    rows = rows[rows["paper"].str.removesuffix("_v1") == key]
    found = []
    for item in listed[listed["paper"] == key].to_dict("records"):
        names = [item["notebook"]] if item["notebook"] in books else []
        label = re.sub(r"(\d+)", r" \1", item["artefact"]).title()
        entry = {**item, "notebooks": names, "label": label, "versions": [], "missing": []}
        printed = rows[rows["artefact"] == item["artefact"]]
        if len(printed):
            entry |= _table(printed)
        found.append(entry)
    return {"artefacts": found}


def publications():
    """Where the papers can be read.

    Returns
    -------
    dict of str to list of dict
        By a paper's key, as listed in `site/papers.csv`: `where` and `address`.
    """
    listed = pd.read_csv(use(root() / "site" / "papers.csv"), keep_default_na=False, dtype=str)
    return {
        key: part[["where", "address"]].to_dict("records")
        for key, part in listed.groupby("paper", sort=False)
    }


def repository():
    """Address of the repository, for the site's links.

    Returns
    -------
    str
        What `pyproject.toml` names as Repository or Source under `[project.urls]`, else the environment variable
        `NLGJUDGE_REPOSITORY`, else nothing: the site then has no such link.
    """
    project = tomllib.loads(use(root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {name.lower(): address for name, address in project.get("urls", {}).items()}
    return (
        named.get("repository") or named.get("source") or os.environ.get("NLGJUDGE_REPOSITORY", "")
    )


def at_a_glance(rows, books):
    """One line for each paper: how much of it reproduces, and where it stands.

    Parameters
    ----------
    rows, books
        As for `cells`.

    Returns
    -------
    list of dict
        In the order of `PAPERS`: `label`, `page` (the key of its page), `brief` (its name in the ledger's table),
        `verdict` in words, `counts` (cells by verdict; empty for a paper that prints no correlations) and
        `printed`, from `publications`.
    """
    of_papers = counts(rows.assign(group=group(rows))).to_dict("index")
    places = publications()
    lines = []
    for key, label in PAPERS.items():
        page = key.removesuffix("_v1")
        own = rows[rows["paper"] == key]
        lines.append(
            {
                "label": label,
                "page": page,
                "brief": BRIEF.get(key, label),
                "verdict": _in_words(own)
                if len(own)
                else _by_artefact(paper(page, rows, books)["artefacts"]),
                "counts": of_papers.get(key, {}),
                "printed": places.get(key, []),
            }
        )
    return lines


def _in_words(cells):
    """How much of a paper's cells was compared, and with what outcome."""
    ran = was_run(cells)
    another = of_others(cells)
    own = cells[ran & ~another]
    same = own["verdict"].isin(["exact", "close"]).sum()
    text = "no cell compared yet"
    if len(own):
        text = f"exact or close: {same:,} of {len(own):,} cells compared"
    if (ran & another).any():
        text += f"; another model's or run's: {(ran & another).sum():,} more"
    misprinted = (cells["verdict"] == MISPRINT).sum()
    if misprinted:
        text += f"; misprinted: {misprinted}"
    return f"{text}; not run: {(group(cells) == 'not run').sum():,}"


def _by_artefact(artefacts):
    """The same of a paper that prints no correlations, by its tables and figures."""
    numbers = pd.Series([artefact["status"] for artefact in artefacts]).value_counts()
    words = {
        "reproduced": "reproduced",
        "partly": "in part",
        "needs": "in need of what was not released",
        "nothing to compute": "nothing to compute",
    }
    parts = [f"{word}: {numbers[status]}" for status, word in words.items() if status in numbers]
    return f"no correlations printed; of {len(artefacts)} tables and figures, {', '.join(parts)}"


def _table(printed):
    """Status of a printed table, from its cells."""
    full = printed[printed["published"] != ""]
    ran = was_run(full)
    agrees = full["verdict"].isin(AGREES) & ~of_others(full)
    status = "partly"
    if agrees.all():
        status = "reproduced"
    elif not ran.any():
        status = "needs"
    unrun = full[~ran]
    missing = [
        (note, list(dict.fromkeys(part["row"])), len(part))
        for note, part in unrun.groupby(unrun["note"].map(besides_misprint), sort=False)
    ]
    by_version = counts(printed.assign(group=group(printed))).reset_index().to_dict("records")
    return {
        "status": status,
        "missing": missing,
        "unrun": list(dict.fromkeys(unrun["row"])),
        "needs": "; ".join(note for note, *_ in missing),
        "versions": [(BRIEF[count["paper"]], count) for count in by_version],
    }


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
    sources = dict(re.findall(r"^\| (\w+) \| ([^;|]*)", readme, re.M))
    files = pd.DataFrame(entries())
    pages = []
    for item in listed.to_dict("records"):
        name = item["benchmark"]
        tables = rows.loc[rows["dataset"] == name, ["paper", "artefact"]].drop_duplicates()
        stand_in = sample.read(name)
        pages.append(
            {
                **item,
                "files": _files(files, _SINGLE_RATERS.sub("", name), sources),
                "tables": [
                    (PAPERS[key], key.removesuffix("_v1"), artefact[:5], artefact[5:])
                    for key, artefact in tables.values
                ],
                "notebooks": [using for using, book in books.items() if name in book["benchmarks"]],
                "aspects": stand_in.aspects,
                "example": _example(stand_in),
            }
        )
    return pages


def _files(files, benchmark, sources):
    """A benchmark's registered files by role and source, each with its number and its citation in words."""
    own = files[files["benchmark"] == benchmark]
    counts = (
        own.groupby(["role", "repository", "commit", "licence", "citation"])
        .size()
        .reset_index(name="n")
    )
    return counts.assign(source=counts["citation"].map(sources)).to_dict("records")


def _example(found):
    """The items of the first document, with mean ratings."""
    first = found.items[found.items["doc_id"] == found.items["doc_id"].iloc[0]]
    means = found.ratings.groupby(["item_id", "aspect"], sort=False)["score"].mean().round(1)
    texts = []
    for text in first.to_dict("records"):
        marks = {
            aspect: means[text["item_id"], aspect]
            for aspect in found.aspects
            if (text["item_id"], aspect) in means
        }
        texts.append({**text, "marks": marks})
    return texts


def _documented(value, name):
    if not inspect.isclass(value):
        return "function", name, ""
    return "class", name, ", ".join(getattr(value, "_fields", ()))


def command_line():
    """Every command with its help, from the parser itself.

    Returns
    -------
    dict of str to str
        By the command's name, as ``data fetch``, in the parser's order; the first name is empty and its help that
        of the whole. A group of commands is there with each of its actions. Steps that make alone calls are left out.
    """
    return dict(_helps("", cli.parser()))


def _helps(name, parser):
    """Help of a parser and of those below it."""
    with mock.patch.dict(os.environ, COLUMNS="96"):  # whatever terminal the site is built in
        yield name, parser.format_help().rstrip()
    for action in parser._subparsers._group_actions if parser._subparsers else ():
        listed = {choice.dest for choice in action._choices_actions}
        for below, other in action.choices.items():
            if below in listed:
                yield from _helps(f"{name} {below}".strip(), other)


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
        if (
            inspect.ismodule(offered)
            and offered is not nlgjudge.papers
            and hasattr(offered, "__all__")
        ):
            modules = {}
            _add(modules, offered, offered.__all__)
            if modules:  # a namespace may hold nothing but constants
                spaces[space] = modules
    _add(spaces["ledger"], nlgjudge.figures, _own_functions(nlgjudge.figures))
    return spaces


def _add(modules, offered, names):
    """List what a namespace or module offers under the modules where it is written, each name once."""
    for name in names:
        value = getattr(offered, name)
        if callable(value):
            listed = modules.setdefault(value.__module__.removeprefix("nlgjudge."), [])
            entry = _documented(value, name)
            if entry not in listed:
                listed.append(entry)


def _own_functions(module):
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    ]
