"""What the Snakefile needs to know: notebooks, what each depends on, and the last step.

Only the standard library at import, because Snakemake reads this on every start.
"""

import hashlib
import json
import os
from contextlib import contextmanager
from functools import cache

from nlgjudge.data.choices import unknown
from nlgjudge.data.paths import SAMPLE_NOTICE, results, root
from nlgjudge.repo import findings

# What a notebook may do without, and the variant of METEOR that cannot.
RESOURCES = {"wordnet": "nltk", "meteor-1.5": "1.5"}
# What a notebook's metadata declares, and what stands before each name.
_KINDS = {
    "benchmarks": "",
    "recordings": "replay:",
    "other_runs": "run:",
    "prompts": "",
    "resources": "",
    "optional": "",
}


def notebooks():
    """Names of the repository's notebooks, sorted."""
    return sorted(path.stem for path in (root() / "notebooks").glob("*.ipynb"))


def benchmarks(name):
    """Benchmarks that a notebook's metadata declares, in its order."""
    return _declared(_read(name), "benchmarks")


def recordings(name):
    """Recordings that a notebook's metadata declares, as ``replay:NAME``."""
    return _declared(_read(name), "recordings")


def other_runs(name):
    """Benchmarks on which a notebook's metadata declares others' runs of metrics, as ``run:BENCHMARK``."""
    return _declared(_read(name), "other_runs")


def prompts(name):
    """Upstream's prompts that a notebook's metadata declares, as ``upstream:OWNER/NAME``.

    A star in a name stands for any letters, so that one name declares a family.
    """
    return _declared(_read(name), "prompts")


def resources(name):
    """Optional resources that a notebook's metadata declares, names of `RESOURCES`."""
    return _declared(_read(name), "resources")


def optional(name):
    """What a notebook's metadata declares and it can do without: benchmarks, recordings, prompts.

    The outputs that are kept say so where one is lacking; another is needed for them.
    """
    return _declared(_read(name), "optional")


def _declared(book, kind):
    names = book["metadata"].get("nlgjudge", {}).get(kind, [])
    return [f"{_KINDS[kind]}{name}" for name in names]


def needs(name):
    """All that a notebook declares, in the order of `data`."""
    return needs_of(_read(name))


def needs_of(book):
    """All that a notebook declares, of one that is read already.

    Parameters
    ----------
    book : dict
        As its file has it.

    Returns
    -------
    list of str
        In the order of `data`.

    Examples
    --------
    >>> needs_of({"metadata": {"nlgjudge": {"benchmarks": ["summeval"], "recordings": ["alttest"]}}})
    ['summeval', 'replay:alttest']
    """
    return list(dict.fromkeys(need for kind in _KINDS for need in _declared(book, kind)))


def declared_files(name):
    """Registered files of all that a notebook declares.

    Returns
    -------
    list of nlgjudge.data.registry.Entry
    """
    return [entry for wanted in needs(name) for entry in files_of(wanted)]


def undeclared(name, used):
    """Registered files that a notebook read and does not declare.

    Such a file is fetched by nobody before the notebook runs, so that it is missing on a machine
    without a mirror.

    Parameters
    ----------
    name : str
        Of the notebook.
    used : iterable of str
        Paths that its run noted, as in the `.deps.json` beside the executed copy. A registered
        file is known by its place, owner/repository/commit/path, below whatever folder.

    Returns
    -------
    list of str
        owner/repository/commit/path, sorted.
    """
    from nlgjudge.data.registry import among

    read = {entry.location for entry in among(used)}
    declared = {entry.location for entry in declared_files(name)}
    return sorted(str(location) for location in read - declared)


def source_digest(name):
    """Digest of a notebook's cells without their outputs, which decides on a rerun."""
    cells = [
        ["".join(cell["source"]), cell["metadata"].get("tags", [])] for cell in _read(name)["cells"]
    ]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def dependencies(name):
    """Files and modules that a notebook used when it last ran, as far as they still exist."""
    note = executed(name).with_suffix(".deps.json")
    if not note.exists():
        return []
    return [path for path in json.loads(note.read_text()) if (root() / path).exists()]


def last_changed(name):
    """Of a notebook's `dependencies` the one that changed last, which alone decides whether it runs again.

    Snakemake looks at each input of each notebook: thousands, of which hundreds are different.

    Returns
    -------
    list of str
        One path; none where nothing is known.
    """
    used = dependencies(name)
    return [max(used, key=lambda path: (root() / path).stat().st_mtime)] if used else []


def executed(name):
    """Where `make reproduce` puts a notebook's executed copy."""
    return root() / "build" / "executed" / f"{name}.ipynb"


def is_up_to_date(name):
    """Whether a notebook has an executed copy, and nothing has changed since that decides on its outputs.

    Its cells are the same, and nothing is newer: no file or module that it used, nor what `resolve` found,
    nor the versions of libraries.
    """
    copy = executed(name)
    if not copy.exists() or not copy.with_suffix(".deps.json").exists():
        return False
    decisive = [root() / "build" / "sources.json", root() / "requirements.lock"]
    decisive += [root() / path for path in dependencies(name)]
    last_change = max((path.stat().st_mtime for path in decisive if path.exists()), default=0)
    return last_change <= copy.stat().st_mtime and _code(
        json.loads(copy.read_text("utf-8"))
    ) == _code(_read(name))


def _code(book):
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


def data(name):
    """Source and digest of all that a notebook declares, as last resolved."""
    found = sources()
    return {wanted: found.get(wanted) for wanted in needs(name)}


def committed(name):
    """What `data` was when the notebook's committed outputs were made; None if never."""
    return _read(name)["metadata"].get("nlgjudge", {}).get("data")


def sources():
    """By benchmark, recording, prompt or resource, the source and digest that `resolve` found."""
    path = root() / "build" / "sources.json"
    return json.loads(path.read_text()) if path.exists() else {}


def resolve(say=print):
    """Fetch all that the notebooks declare, and find out what of it can be had.

    Parameters
    ----------
    say : callable
        Called with a line for each benchmark, recording, prompt and resource.

    Returns
    -------
    dict of str to list of str
        By benchmark, recording, prompt or resource, `real`, `sample`, `absent` or `unreadable` and
        the data's digest (none of a resource); kept in `build/sources.json` too.

    Raises
    ------
    KeyError, ValueError
        For a declared name that is not known.
    nlgjudge.data.fetch.DataUnavailable
        Where a code host answered and still did not give a file that is needed; what was fetched
        is kept.
    """
    wanted = {}  # in order, each with whether some notebook cannot do without
    for name in notebooks():
        can_do_without = optional(name)
        for need in needs(name):
            wanted[need] = wanted.get(need, False) or need not in can_do_without
    files = _fetch(list(wanted), {need for need, needed in wanted.items() if needed}, say)
    found = _found(files, say)
    stand_ins = [need for need, (source, _) in found.items() if source == "sample"]
    if stand_ins and any(source == "real" for source, _ in found.values()):
        say(f"  The sample stands in for {', '.join(stand_ins)}; all else is real.")
    path = root() / "build" / "sources.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return found


def _found(files, say):
    """Source and digest of each need, read anew where something has changed; files is by need, which are here."""
    found, lines = findings.kept(files)
    if found is not None:
        for line in lines:
            say(line)
    else:
        found, lines = _read_anew([need for need in files if need not in RESOURCES], say)
        findings.keep(files, found, lines)
    # A Java, or a folder of WordNet, may come from anywhere.
    resources = [need for need in files if need in RESOURCES]
    return found | _read_anew(resources, say)[0]


def _read_anew(wanted, say):
    """Source and digest of each need, and the lines that were said."""
    from nlgjudge.data.benchmarks import load as load_anew

    lines = []

    def said(line):
        lines.append(line)
        say(line)

    load = cache(load_anew)  # several needs are read with the same benchmark
    with _offline():  # what can be had is here now
        found = {need: _find(need, said, load) for need in sorted(wanted, key=_order)}
    return found, lines


def _kind(need):
    kinds = {"replay:": "recording", "run:": "other run", "upstream:": "prompt"}
    found = next((kind for start, kind in kinds.items() if need.startswith(start)), None)
    return found or ("resource" if need in RESOURCES else "benchmark")


def _order(need):
    return ("benchmark", "recording", "other run", "prompt", "resource").index(_kind(need)), need


def files_of(need):
    """Registered files of a benchmark, recording, others' run, prompt or resource.

    Parameters
    ----------
    need : str
        As a notebook declares it: ``summeval``, ``replay:alttest``, ``run:summeval``, ``upstream:geval/*``.

    Returns
    -------
    list of nlgjudge.data.registry.Entry

    Raises
    ------
    KeyError, ValueError
        For a name that is not known.
    """
    from nlgjudge.data import benchmarks as readers
    from nlgjudge.data.published_runs import other_run_files
    from nlgjudge.data.recordings import recorded_files
    from nlgjudge.data.registry import entries, prompt_files

    kind = _kind(need)
    if kind == "resource":
        return entries(need) if need == "wordnet" else []  # METEOR 1.5 is a package
    if kind == "recording":
        return recorded_files(need.removeprefix("replay:"))
    if kind == "other run":
        return other_run_files(need.removeprefix("run:"))
    if kind == "prompt":
        return prompt_files(need)
    if need not in readers.READERS:
        raise ValueError(
            unknown(
                "benchmark, recording, prompt or resource", need, [*readers.READERS, *RESOURCES]
            )
        )
    return readers.files(need)


def _fetch(wanted, needed, say):
    """Have the files of all needs at hand; say which ones a code host did not give.

    Returns
    -------
    dict of str to dict
        By need, the place of each of its files and whether it is here.
    """
    from nlgjudge.data import fetch

    files = {need: files_of(need) for need in wanted}
    outcomes = fetch.read_all(
        (entry for entries in files.values() for entry in entries), label="data"
    )
    failed = _of_kind(outcomes, "failed")
    gone = _of_kind(outcomes, "absent")
    away = [error.cause for error in _of_kind(outcomes, "offline").values()]
    asked_for = {entry for need in needed for entry in files[need]}
    optional_roles = ("scores",)  # of a benchmark; a host that has none is no reason to stop
    for entry, error in failed.items():
        if entry not in asked_for:
            say(f"  without {error.cause}")
    for entry, error in gone.items():
        if entry in asked_for and entry.role not in optional_roles:
            say(f"  MISSING {error.cause}")
    if gone:
        say(
            f"  the code host does not have {len(gone)} of {len(outcomes)} files; they are named below"
        )
    if away:
        why = away[0].partition(": ")[2]
        say(f"  {len(away)} of {len(outcomes)} files are not here: {why}")
    stopped = [error for entry, error in failed.items() if entry in asked_for]
    if stopped:
        raise fetch.DataUnavailable(
            f"{len(stopped)} of {len(outcomes)} files could not be had, as {stopped[0].cause}\n"
            "The code host answered, so nothing stands in for them. What was fetched is kept: run the same "
            "command again later, or set NLGJUDGE_OFFLINE=1 to do without.",
            kind="failed",
        )
    here = {entry.location: error is None for entry, error in outcomes.items()}
    return {
        need: {str(entry.location): here[entry.location] for entry in files[need]}
        for need in wanted
    }


def _of_kind(outcomes, kind):
    """Files that could not be had for one kind of reason, with what the host said."""
    return {entry: error for entry, error in outcomes.items() if error and error.kind == kind}


@contextmanager
def _offline():
    """Fetch nothing for a while."""
    before = os.environ.get("NLGJUDGE_OFFLINE")
    os.environ["NLGJUDGE_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["NLGJUDGE_OFFLINE"]
        else:
            os.environ["NLGJUDGE_OFFLINE"] = before


def _find(need, say, load):
    """Source and digest of one need, and a line about it."""
    kind = _kind(need)
    if kind == "benchmark":
        return _benchmark(need, say, load)
    if kind == "resource":
        found = _resource(need)
    elif kind == "recording":
        found = _recording(need.removeprefix("replay:"), load)
    elif kind == "other run":
        found = _other_run(need.removeprefix("run:"), load)
    else:
        found = _prompt(need)
    say(f"  {need:44} {found[0]}")
    return found


def _benchmark(name, say, load):
    from nlgjudge.data.optional import ABSENT

    loaded = load(name)
    line = f"  {name:18} {loaded.source:6} {len(loaded.items):5} items"
    if loaded.is_sample:
        line += f"  ({SAMPLE_NOTICE})"
    say(line)
    absent = [path for path, why in loaded.left_out.items() if why == ABSENT]
    if absent:
        say(f"{'':20}without {', '.join(absent)}: {ABSENT}")
    return [loaded.source, loaded.digest]


def _recording(name, load):
    from nlgjudge.data.fetch import local
    from nlgjudge.data.recordings import available, recorded_files

    files = recorded_files(name)
    if available(name, load=load):
        return ["real", _blobs(files)]
    here = all(local(entry) for entry in files)
    return ["unreadable" if here else "absent", _blobs(files)]


def _other_run(name, load):
    from nlgjudge.data.optional import ABSENT
    from nlgjudge.data.published_runs import other_run_files, other_runs

    files = other_run_files(name)
    benchmark = load(name)
    if benchmark.is_sample:  # nobody ran a metric on its texts
        return ["absent", _blobs(files)]
    left_out = set(other_runs(benchmark).left_out.values())
    if not left_out:
        return ["real", _blobs(files)]
    return ["absent" if ABSENT in left_out else "unreadable", _blobs(files)]


def _prompt(name):
    from nlgjudge.data.fetch import local
    from nlgjudge.data.registry import prompt_files

    files = prompt_files(name)
    here = all(local(entry) for entry in files)
    return ["real" if here else "absent", _blobs(files)]


def _blobs(files):
    return hashlib.sha256("".join(entry.blob for entry in files).encode()).hexdigest()[:12]


def _resource(name):
    from nlgjudge.metrics.meteor_versions import meteor_missing

    return ["absent" if meteor_missing(RESOURCES[name]) else "real", ""]


def finish(say=print):
    """Merge the notebooks' parts into this run's ledger, compare it with the committed one, draw summaries.

    Everything goes to `build/results/`; what is committed stays as it is.

    Parameters
    ----------
    say : callable
        Called with each line of the summary.
    """
    from nlgjudge.ledger import figures, kept_reruns, ledger, qra_records
    from nlgjudge.ledger.printed import PAPERS
    from nlgjudge.repo import coverage, overview

    path, lines = merge_ledger()
    rows = ledger.read(path)
    for paper, part in rows.groupby("paper", sort=False):
        figures.save(
            overview.summary(part, title=PAPERS[paper]), f"summary_{paper}", folder=results()
        )
    records = qra_records.write_records(rows, results())
    say(coverage.coverage(rows).to_string())
    say(coverage.different_sentence(rows))
    say("")
    committed_records = root() / "paper_tables" / "reproducibility"
    drawn = sorted((results() / "figures").glob("*"))
    for line in [
        *lines,
        *kept_reruns.differences(results() / "reruns"),
        compare_files(records, committed_records, "records of reproducibility"),
        compare_files(drawn, root() / "figures", "figures"),
    ]:
        say(line)
    say(
        f"\nledger    {path.relative_to(root())}\nfigures   {(results() / 'figures').relative_to(root())}/"
        "\nnotebooks build/executed/ (with outputs)\n`make refresh` copies them into the repository."
    )


def compare_files(made, folder, what):
    """Compare files of a run with the committed ones.

    Parameters
    ----------
    made : list of pathlib.Path
        Of the run.
    folder : pathlib.Path
        Of the committed ones, which have the same names.
    what : str
        What the files are, for the line.

    Returns
    -------
    str
        A line that names those that differ or are new; several files of one stem are one.
    """
    differ = [
        path.stem
        for path in made
        if not (folder / path.name).exists()
        or (folder / path.name).read_bytes() != path.read_bytes()
    ]
    number = len({path.stem for path in made})
    if differ:
        return f"{number} {what}: not as committed, {', '.join(dict.fromkeys(differ))}"
    return f"{number} {what}: all as committed"


def merge_ledger():
    """Join the notebooks' parts of the ledger and compare the whole with what is committed.

    A cell of a notebook that could not have all its data here keeps its committed value.

    Returns
    -------
    path : pathlib.Path
        The ledger of this run, `build/results/ledger.csv`.
    lines : list of str
        What differs from the committed ledger, and what was not computed here.
    """
    from nlgjudge.ledger import kept_reruns, ledger

    rows = ledger.merge(_parts(), kept_reruns.by_rank(kept_reruns.kept_cells()))
    path = results() / "ledger.csv"
    committed = root() / "paper_tables" / "ledger.csv"
    if not committed.exists():
        ledger.save(rows, path)
        return path, [f"{len(rows):,} cells, and no committed ledger to compare with"]
    before = ledger.read(committed)
    without = _lacking()
    rows, kept = ledger.keep_committed(rows, before, without)
    ledger.save(rows, path)
    for name, cells in kept_reruns.printed_judges(rows).items():
        kept_reruns.write_rerun(name, cells)
    return path, [*_compared(ledger.read(path), before, kept, without)]


def _parts():
    """The newest part of the ledger of each notebook, from real data or from the sample."""
    parts = []
    for name in notebooks():
        both = [folder / "ledger" / f"{name}.csv" for folder in (results(), results() / "sample")]
        here = [path for path in both if path.exists()]
        if here:
            parts.append(max(here, key=lambda path: path.stat().st_mtime))
    return parts


def lacking(found, optional, committed):
    """What a notebook needs for the results that are committed and could not have.

    Parameters
    ----------
    found : dict
        By need, source and digest, or None where it was never resolved.
    optional : list of str
        What it can do without.
    committed : dict or None
        As `found`, of the run that the committed results are from.

    Returns
    -------
    list of str
        Needs that are not real here; an optional one only where the committed results had it.
    """
    missing = [need for need, source in found.items() if source is None or source[0] != "real"]
    had = {need for need, source in (committed or {}).items() if source and source[0] == "real"}
    return [need for need in missing if need not in optional or need in had]


def _lacking():
    """By notebook that could not have all its data, what it lacked."""
    found = {name: lacking(data(name), optional(name), committed(name)) for name in notebooks()}
    return {name: missing for name, missing in found.items() if missing}


def _compared(rows, before, kept, without):
    """Lines that say which cells differ from the committed ledger, and which were not computed here."""
    from nlgjudge.ledger import ledger

    changed = ledger.changes(before, rows)
    total = f"{len(rows):,} cells: "
    if len(changed) == 0:
        yield total + "all as committed"
    else:
        changed.to_csv(results() / "differences.csv", index=False, lineterminator="\n")
        values = int((changed["what"] != "note").sum())
        yield (
            f"{total}{len(rows) - len(changed):,} as committed, {values:,} differ in value or verdict, "
            f"{len(changed) - values:,} in their note alone; see build/results/differences.csv"
        )
        for row in changed.head(5).itertuples():
            cell = f"{row.paper} {row.artefact} {row.row}, {row.aspect} {row.coefficient}"
            yield f"  {cell}: {row.what} {row.committed} -> {row.here}"
    if kept:
        what = sorted({missing for name in kept for missing in without[name]})
        yield (
            f"{sum(kept.values()):,} of them were not recomputed here and keep their committed value: "
            f"missing {', '.join(what)}"
        )
        data_here = [
            n for n, found in sources().items() if found[0] == "real" and n not in RESOURCES
        ]
        if not data_here:
            yield f"No real data could be had: the notebooks ran on {SAMPLE_NOTICE}."


def _read(name):
    return json.loads((root() / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
