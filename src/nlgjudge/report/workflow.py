"""What the Snakefile needs to know: notebooks, what each depends on, and the last step.

Only the standard library at import, because Snakemake reads this on every start.
"""

import hashlib
import json

from nlgjudge.data.paths import SAMPLE_NOTICE, results, root

# What a notebook may do without, and the variant of METEOR that cannot.
RESOURCES = {"wordnet": "nltk", "meteor-1.5": "1.5"}


def notebooks():
    """Names of the repository's notebooks, sorted."""
    return sorted(path.stem for path in (root() / "notebooks").glob("*.ipynb"))


def benchmarks(name):
    """Benchmarks that a notebook's metadata declares, in its order."""
    return _read(name)["metadata"].get("nlgjudge", {}).get("benchmarks", [])


def recordings(name):
    """Recordings that a notebook's metadata declares, as ``replay:NAME``."""
    return [f"replay:{r}" for r in _read(name)["metadata"].get("nlgjudge", {}).get("recordings", [])]


def resources(name):
    """Optional resources that a notebook's metadata declares, names of `RESOURCES`."""
    return _read(name)["metadata"].get("nlgjudge", {}).get("resources", [])


def source_digest(name):
    """Digest of a notebook's cells without their outputs, which decides on a rerun."""
    cells = [["".join(c["source"]), c["metadata"].get("tags", [])] for c in _read(name)["cells"]]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def dependencies(name):
    """Files and modules that a notebook used when it last ran, as far as they still exist."""
    note = root() / "build" / "executed" / f"{name}.deps.json"
    if not note.exists():
        return []
    return [path for path in json.loads(note.read_text()) if (root() / path).exists()]


def data(name):
    """Source and digest of each benchmark, recording and resource of a notebook, as last resolved."""
    found = sources()
    return {wanted: found.get(wanted) for wanted in [*benchmarks(name), *recordings(name), *resources(name)]}


def committed(name):
    """What `data` was when the notebook's committed outputs were made; None if never."""
    return _read(name)["metadata"].get("nlgjudge", {}).get("data")


def sources():
    """By benchmark, recording or resource, the source and digest that `resolve` found."""
    path = root() / "build" / "sources.json"
    return json.loads(path.read_text()) if path.exists() else {}


def resolve(say=print):
    """Find out what of the notebooks' data can be had, downloading what is missing, and which resources.

    Parameters
    ----------
    say : callable
        Called with a line for each benchmark.

    Returns
    -------
    dict of str to list of str
        By benchmark, recording or resource, `real`, `sample` or `absent` and the data's digest
        (none of a resource); kept in `build/sources.json` too.

    Raises
    ------
    ValueError
        For a resource that is not in `RESOURCES`.
    """
    from nlgjudge.data.benchmarks import load

    wanted = sorted({b for name in notebooks() for b in benchmarks(name)})
    found = {}
    for benchmark in wanted:
        loaded = load(benchmark)
        found[benchmark] = [loaded.source, loaded.digest]
        say(f"  {benchmark:14} {loaded.source:6} {len(loaded.items):5} items"
            + (f"  ({SAMPLE_NOTICE})" if loaded.is_sample else ""))
    for name in sorted({r for n in notebooks() for r in recordings(n)}):
        found[name] = _recording(name.removeprefix("replay:"))
        say(f"  {name:40} {found[name][0]}")
    for name in sorted({r for n in notebooks() for r in resources(n)}):
        found[name] = _resource(name)
        say(f"  {name:40} {found[name][0]}")
    path = root() / "build" / "sources.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return found


def _recording(name):
    from nlgjudge.data.recordings import available, recorded_files

    blobs = "".join(entry.blob for entry in recorded_files(name))
    return ["real" if available(name) else "absent", hashlib.sha256(blobs.encode()).hexdigest()[:12]]


def _resource(name):
    from nlgjudge.data.meteor import meteor_missing

    if name not in RESOURCES:
        raise ValueError(f"resource {name!r}: expected one of {', '.join(RESOURCES)}")
    return ["absent" if meteor_missing(RESOURCES[name]) else "real", ""]


def finish(say=print):
    """Merge the notebooks' parts into this run's ledger, compare it with the committed one, draw summaries.

    Everything goes to `build/results/`; what is committed stays as it is.

    Parameters
    ----------
    say : callable
        Called with each line of the summary.
    """
    from nlgjudge.report import coverage, figures, ledger, overview
    from nlgjudge.report.published import PAPERS

    path, lines = merge_ledger()
    rows = ledger.read(path)
    for paper, part in rows.groupby("paper", sort=False):
        figures.save(overview.summary(part, title=PAPERS[paper]), f"summary_{paper}", folder=results())
    say(coverage.coverage(rows).to_string())
    say("")
    for line in lines:
        say(line)
    say(f"\nledger    {path.relative_to(root())}\nfigures   {(results() / 'figures').relative_to(root())}/"
        "\nnotebooks build/executed/ (with outputs)\n`make refresh` copies them into the repository.")


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
    from nlgjudge.report import ledger

    rows = ledger.merge(_parts())
    path = results() / "ledger.csv"
    committed = root() / "paper_tables" / "ledger.csv"
    if not committed.exists():
        ledger.save(rows, path)
        return path, [f"{len(rows):,} cells, and no committed ledger to compare with"]
    before, lacking = ledger.read(committed), _lacking()
    rows, kept = ledger.keep_committed(rows, before, lacking)
    ledger.save(rows, path)
    return path, [*_compared(ledger.read(path), before, kept, lacking)]


def _parts():
    """The newest part of the ledger of each notebook, from real data or from the sample."""
    parts = []
    for name in notebooks():
        both = [folder / "ledger" / f"{name}.csv" for folder in (results(), results() / "sample")]
        here = [path for path in both if path.exists()]
        if here:
            parts.append(max(here, key=lambda path: path.stat().st_mtime))
    return parts


def _lacking():
    """By notebook that could not have all its data, what it lacked."""
    lacking = {}
    for name in notebooks():
        missing = [wanted for wanted, found in data(name).items() if found is None or found[0] != "real"]
        if missing:
            lacking[name] = missing
    return lacking


def _compared(rows, before, kept, lacking):
    """Lines that say which cells differ from the committed ledger, and which were not computed here."""
    from nlgjudge.report import ledger

    changed = ledger.changes(before, rows)
    total = f"{len(rows):,} cells: "
    if len(changed) == 0:
        yield total + "all as committed"
    else:
        changed.to_csv(results() / "differences.csv", index=False, lineterminator="\n")
        values = int((changed["what"] != "note").sum())
        yield (f"{total}{len(rows) - len(changed):,} as committed, {values:,} differ in value or verdict, "
               f"{len(changed) - values:,} in their note alone; see build/results/differences.csv")
        for row in changed.head(5).itertuples():
            cell = f"{row.paper} {row.artefact} {row.row}, {row.aspect} {row.coefficient}"
            yield f"  {cell}: {row.what} {row.committed} -> {row.here}"
    if kept:
        what = sorted({missing for name in kept for missing in lacking[name]})
        yield (f"{sum(kept.values()):,} of them were not recomputed here and keep their committed value: "
               f"missing {', '.join(what)}")
        if not any(found[0] == "real" for found in sources().values()):
            yield f"No real data could be had: the notebooks ran on {SAMPLE_NOTICE}."


def _read(name):
    return json.loads((root() / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))

