"""What the Snakefile and the Makefile need: declared data, parameters, the merged ledger, `refresh`.

Notebooks are run by papermill and checked by nbval; nothing here runs or compares one.
"""

import ast
import hashlib
import json
import os
import sys
from contextlib import contextmanager

from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import SAMPLE_NOTICE, results, root

# Optional resources, and the variant of METEOR that needs each.
RESOURCES = {"wordnet": "nltk", "meteor-1.5": "1.5"}
# The lists in a notebook's metadata, with the prefix of the names in each.
_DECLARED = {
    "benchmarks": "",
    "recordings": "replay:",
    "other_runs": "run:",
    "prompts": "",
    "resources": "",
    "optional": "",
}
# Kinds of parameters, the narrower first, because True is also a number.
_KINDS = {
    bool: "true or false",
    (int, float): "a number",
    str: "text",
    dict: "names and values",
    (list, tuple): "a list",
}


def notebooks():
    """Names of the repository's notebooks, sorted."""
    return sorted(path.stem for path in (root() / "notebooks").glob("*.ipynb"))


def shared_digest():
    """Digest of the files that every notebook depends on: the package, the tables, the registry.

    Returns
    -------
    str
    """
    files = [root() / "data" / "registry.csv"]
    files += sorted((root() / "src").rglob("*.py"))
    files += sorted((root() / "paper_tables").rglob("*.csv"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(root())}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def source_digest(name):
    """Digest of a notebook's cells without their outputs."""
    cells = [[cell["source"], cell["metadata"].get("tags", [])] for cell in _read(name)["cells"]]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def needs(name):
    """Everything that a notebook's metadata declares.

    Parameters
    ----------
    name : str

    Returns
    -------
    list of str
        As ``summeval``, ``replay:alttest``, ``run:summeval``, ``upstream:geval/*`` or ``wordnet``.
    """
    declared = _metadata(name)
    listed = [
        f"{start}{one}" for kind, start in _DECLARED.items() for one in declared.get(kind, [])
    ]
    return list(dict.fromkeys(listed))


def optional(name):
    """What a notebook declares and can do without."""
    return _metadata(name).get("optional", [])


def data(name):
    """What a notebook's needs resolved to when data were last fetched.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict of str to [str, str]
        By need, ``real``, ``sample`` or ``absent``, and a digest of the data.
    """
    path = root() / "build" / "sources.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {need: found.get(need, ["absent", ""]) for need in needs(name)}


def committed_data(name):
    """`data` as it was when the committed outputs were made."""
    return _metadata(name).get("data", {})


def files_of(need):
    """Registered files of a need.

    Parameters
    ----------
    need : str
        As from `needs`.

    Returns
    -------
    list of nlgjudge.data.registry.Entry

    Raises
    ------
    KeyError, ValueError
        For an unknown name.
    """
    from nlgjudge.data import benchmarks
    from nlgjudge.data.published_runs import other_run_files
    from nlgjudge.data.recordings import recorded_files
    from nlgjudge.data.registry import entries, prompt_files

    if need in RESOURCES:
        return entries(need) if need == "wordnet" else []  # METEOR 1.5 is a package
    if need.startswith("replay:"):
        return recorded_files(need.removeprefix("replay:"))
    if need.startswith("run:"):
        return other_run_files(need.removeprefix("run:"))
    if need.startswith("upstream:"):
        return prompt_files(need)
    if need not in benchmarks.READERS:
        known = [*benchmarks.READERS, *RESOURCES]
        raise ValueError(unknown("benchmark, recording, prompt or resource", need, known))
    return benchmarks.files(need)


def fetch_declared(say=print):
    """Fetch the files that the notebooks declare, and record what each need resolves to.

    Parameters
    ----------
    say : callable
        Called with each line of the report.

    Returns
    -------
    dict of str to [str, str]
        As `data`, of all needs; also written to `build/sources.json`.

    Raises
    ------
    KeyError, ValueError
        For an unknown declared name.
    nlgjudge.data.fetch.DataUnavailable
        When a code host answers but does not deliver a file that a notebook needs. Files that
        were fetched are kept.
    """
    required = {}
    for name in notebooks():
        for need in needs(name):
            required[need] = required.get(need, False) or need not in optional(name)
    _fetch({need: files_of(need) for need in required}, required, say)
    with _environment("NLGJUDGE_OFFLINE", "1"):
        found = {need: _resolved(need) for need in required}
    for need, (source, _) in found.items():
        say(f"  {need:44} {source}")
    if not any(source == "real" for source, _ in found.values()):
        say(f"No real data are available: the notebooks use {SAMPLE_NOTICE}.")
    path = root() / "build" / "sources.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def _fetch(files, required, say):
    """Download missing files; report the ones that are unavailable."""
    from nlgjudge.data import fetch

    outcomes = fetch.read_all(
        (entry for entries in files.values() for entry in entries), label="data"
    )
    needed = {entry for need, entries in files.items() if required[need] for entry in entries}
    missing = {entry: error for entry, error in outcomes.items() if error}
    offline = [error for error in missing.values() if error.kind == "offline"]
    if offline:
        say(f"  {len(offline)} of {len(outcomes)} files are missing: {offline[0].cause}")
    for entry, error in missing.items():
        if error.kind != "offline" and entry in needed and entry.role != "scores":
            say(f"  missing: {error.cause}")
    refused = [
        error for entry, error in missing.items() if error.kind == "failed" and entry in needed
    ]
    if refused:
        raise fetch.DataUnavailable(
            f"{len(refused)} of {len(outcomes)} files are missing: {refused[0].cause}\n"
            "The code host answered, so the sample does not replace them. The fetched files are kept: "
            "run the same command again later, or set NLGJUDGE_OFFLINE=1 to continue without them.",
            kind="failed",
        )


@contextmanager
def _environment(name, value):
    """Set an environment variable inside the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _resolved(need):
    """Source and digest of one need."""
    from nlgjudge.data import benchmarks, fetch
    from nlgjudge.metrics.meteor_versions import meteor_missing

    if need in RESOURCES:
        return ["absent" if meteor_missing(RESOURCES[need]) else "real", ""]
    if need in benchmarks.READERS:
        found = benchmarks.load(need)
        return [found.source, found.digest]
    files = files_of(need)
    here = all(fetch.local(entry) for entry in files)
    digest = hashlib.sha256("".join(entry.blob for entry in files).encode()).hexdigest()[:12]
    return ["real" if here else "absent", digest]


def check_parameters(path, parameters):
    """Refuse parameters that a notebook does not have, or values of another kind than its own.

    Parameters
    ----------
    path : pathlib.Path
        The notebook.
    parameters : dict

    Raises
    ------
    ValueError
        Names the parameter, what was expected and what was given.

    Examples
    --------
    >>> check_parameters(root() / "notebooks" / "00_tour.ipynb", {"seed": "one"})
    Traceback (most recent call last):
    ValueError: 00_tour.ipynb: seed='one': expected a number, as 0
    """
    import papermill

    known = papermill.inspect_notebook(str(path))
    for name, value in parameters.items():
        if name not in known:
            raise ValueError(f"{path.name}: {unknown('parameter', name, known, most=len(known))}")
        expected = _other_kind(value, known[name]["default"])
        if expected:
            raise ValueError(f"{path.name}: {name}={value!r}: expected {expected}")


def _other_kind(value, default):
    """The kind that a parameter has, where a value is of another one."""
    try:
        default = ast.literal_eval(default)
    except (ValueError, SyntaxError):  # computed in the notebook
        return None
    if value is None or default is None:
        return None
    if default == "" and isinstance(value, (list, dict)):
        return None  # a judge may be one name, several, or one for each row
    kind, word = next((kind, word) for kind, word in _KINDS.items() if isinstance(default, kind))
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return f"{word}, as {json.dumps(default)}"
    return None


def build_ledger(say=print):
    """Merge the notebooks' parts into this run's ledger and report how it differs from the committed one.

    Writes `build/results/ledger.csv`, the summary figures and `build/results/differences.csv`.
    A cell whose notebook lacked data keeps its committed value.

    Parameters
    ----------
    say : callable
        Called with each line of the report; the last one counts the cells.
    """
    import matplotlib.pyplot as plt

    from nlgjudge.ledger import figures, kept_reruns, ledger
    from nlgjudge.ledger.printed import PAPERS
    from nlgjudge.repo import coverage, overview

    lacking = {name: missing for name in notebooks() if (missing := _lacking(name))}
    before = ledger.committed()
    rows = ledger.merge(_parts(), kept_reruns.by_rank(kept_reruns.kept_cells()))
    rows, kept = ledger.keep_committed(rows, before, lacking)
    path = results() / "ledger.csv"
    ledger.save(rows, path)
    rows = ledger.read(path)
    for judge, cells in kept_reruns.printed_judges(rows).items():
        ledger.save(cells, results() / "reruns" / f"{judge}.csv")
    for paper, part in rows.groupby("paper", sort=False):
        drawn = overview.summary(part, title=PAPERS[paper])
        figures.save(drawn, f"summary_{paper}", folder=results())
        plt.close(drawn)
    say(coverage.coverage(rows).to_string())
    say(coverage.different_sentence(rows))
    for source, target in _copies():
        if not target.exists() or target.read_bytes() != source.read_bytes():
            say(f"{target.relative_to(root())}: differs from the committed file")
    if kept:
        missing = sorted({need for name in kept for need in lacking[name]})
        say(
            f"{sum(kept.values()):,} cells keep their committed value, because these data are missing: "
            f"{', '.join(missing)}"
        )
    if not any(
        source == "real" for name in notebooks() for source, digest in data(name).values() if digest
    ):
        say(f"The notebooks used {SAMPLE_NOTICE}.")
    changed = ledger.changes(before, rows)
    changed.to_csv(results() / "differences.csv", index=False, lineterminator="\n")
    for row in changed.head(20).itertuples():
        cell = f"{row.paper} {row.artefact} {row.row}, {row.aspect} {row.coefficient}"
        say(f"  {cell}: {row.what} {row.committed} -> {row.here}")
    if len(changed) > 20:
        say(f"  and {len(changed) - 20:,} more in build/results/differences.csv")
    count = "all as committed"
    if len(changed):
        count = f"{len(changed):,} differ from the committed ledger"
    say(f"{len(rows):,} cells: {count}")


def _parts():
    """The newest part of the ledger of each notebook, from real data or from the sample."""
    parts = []
    for name in notebooks():
        both = [folder / "ledger" / f"{name}.csv" for folder in (results(), results() / "sample")]
        parts += sorted(
            (path for path in both if path.exists()), key=lambda one: one.stat().st_mtime
        )[-1:]
    return parts


def _lacking(name):
    """What a notebook needs for its committed results and does not have."""
    had = {need for need, (source, _) in committed_data(name).items() if source == "real"}
    absent = [need for need, (source, _) in data(name).items() if source != "real"]
    return [need for need in absent if need not in optional(name) or need in had]


def _copies():
    """Files of this run that belong in the repository, each with its place."""
    tables = root() / "paper_tables"
    folders = {
        "figures": root() / "figures",
        "settings": tables / "settings",
        "reruns": tables / "reruns",
        "reproducibility": tables / "reproducibility",
    }
    for folder, target in folders.items():
        for path in sorted((results() / folder).glob("*")):
            yield path, target / path.name


def refresh(say=print):
    """Copy the last run's outputs, figures, tables and ledger into the repository.

    Outputs of a notebook that lacked data are not copied.

    Parameters
    ----------
    say : callable
        Called with a line for each file that changed.
    """
    from nlgjudge.ledger import ledger
    from nlgjudge.repo import coverage, reach

    for name in notebooks():
        if _lacking(name):
            say(f"{name}: not copied, because data were missing: {', '.join(_lacking(name))}")
        else:
            _write(root() / "notebooks" / f"{name}.ipynb", _with_outputs(name), say)
    ledger_file = root() / "paper_tables" / "ledger.csv"
    for source, target in [*_copies(), (results() / "ledger.csv", ledger_file)]:
        _write(target, source.read_bytes(), say)
    reach.refresh()
    for readme in (root() / "README.md", root() / "paper_tables" / "README.md"):
        coverage.update(readme, ledger.read(ledger_file))


def _with_outputs(name):
    """A committed notebook with the outputs of its executed copy, without papermill's traces."""
    import nbformat
    from nbconvert.preprocessors import CoalesceStreamsPreprocessor

    book = nbformat.read(root() / "notebooks" / f"{name}.ipynb", as_version=4)
    executed = nbformat.read(root() / "build" / "executed" / f"{name}.ipynb", as_version=4)
    executed, _ = CoalesceStreamsPreprocessor().preprocess(executed, {})
    for cell, ran in zip(book.cells, executed.cells, strict=True):
        if cell.cell_type != "code":
            continue
        cell.outputs = ran.outputs
        cell.execution_count = ran.execution_count
        for output in cell.outputs:
            if "metadata" in output:  # the width of a picture stays
                kept = {key: value for key, value in output.metadata.items() if key == "image/png"}
                output.metadata = nbformat.from_dict(kept)
    book.metadata["nlgjudge"]["data"] = data(name)
    return (nbformat.writes(book) + "\n").encode()


def _write(path, content, say):
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        say(f"{path.relative_to(root())}: changed")


def notebooks_of(paper, artefacts):
    """Notebooks of some tables of a paper, by their names.

    Parameters
    ----------
    paper : str
    artefacts : list of str

    Returns
    -------
    list of str

    Examples
    --------
    >>> notebooks_of("geval", ["table2"])
    ['geval_table2_topical_chat']
    """
    return [
        name
        for name in notebooks()
        if name.startswith(f"{paper}_") and {*artefacts} & {*name.split("_")}
    ]


def run_notebook(name, parameters, folder):
    """Execute a notebook with other parameters, and write its page.

    Parameters
    ----------
    name : str
    parameters : dict
    folder : pathlib.Path
        Results go there, the executed copy and its page to `executed/` below it. The page leaves out
        the paragraphs that are tagged ``default-run``, which describe the committed run.

    Raises
    ------
    ValueError
        For a parameter that the notebook does not have.
    """
    import nbformat
    import papermill
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import TagRemovePreprocessor

    path = root() / "notebooks" / f"{name}.ipynb"
    check_parameters(path, parameters)
    book = nbformat.read(path, as_version=4)
    note = (
        f"This run has other settings: {', '.join(parameters)}. "
        "The sentences in this notebook describe the committed run."
    )
    book.cells.insert(0, nbformat.v4.new_code_cell(f"print({note!r})"))
    executed = folder / "executed" / path.name
    executed.parent.mkdir(parents=True, exist_ok=True)
    with _environment("NLGJUDGE_OUT", str(folder)):
        papermill.execute_notebook(
            book,
            str(executed),
            parameters,
            cwd=str(path.parent),
            kernel_name="python3",
            progress_bar=False,
        )
    pages = HTMLExporter()
    pages.register_preprocessor(TagRemovePreprocessor(remove_cell_tags={"default-run"}), True)
    page, _ = pages.from_filename(str(executed))
    executed.with_suffix(".html").write_text(page, encoding="utf-8")


def _read(name):
    path = root() / "notebooks" / f"{name}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def _metadata(name):
    return _read(name)["metadata"].get("nlgjudge", {})


def main(kind):
    """Print the notebooks that have the data of their committed outputs, or the others.

    Parameters
    ----------
    kind : {"comparable", "other"}
    """
    for name in notebooks():
        if (data(name) == committed_data(name)) == (kind == "comparable"):
            print(f"notebooks/{name}.ipynb")


if __name__ == "__main__":
    main(*sys.argv[1:])
