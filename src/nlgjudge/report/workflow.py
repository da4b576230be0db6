"""What the Snakefile needs to know: notebooks, what each depends on, and the last step.

Only the standard library at import, because Snakemake reads this on every start.
"""

import hashlib
import json

from nlgjudge.data.paths import SAMPLE_NOTICE, root

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
    """Merge the notebooks' parts into the ledger, draw a summary of each paper, say how much reproduces.

    The ledger in `paper_tables/` is written when a notebook ran on real data; on the sample
    alone it is left as it is, and the run's own ledger goes to `build/sample/`.

    Returns
    -------
    pathlib.Path
        The ledger that was written.
    """
    from nlgjudge.report import coverage, figures, ledger, overview
    from nlgjudge.report.published import PAPERS

    folders = {False: root() / "build", True: root() / "build" / "sample" / "build"}
    names, parts = set(notebooks()), []
    for name in sorted(names):
        both = [folders[kind] / "ledger" / f"{name}.csv" for kind in (False, True)]
        newest = max((p for p in both if p.exists()), key=lambda p: p.stat().st_mtime, default=None)
        parts += [newest] if newest else []
    real = [p for p in parts if p.is_relative_to(folders[False] / "ledger")]
    rows = ledger.merge(parts)
    base = root() if real or not parts else root() / "build" / "sample"
    path = base / "paper_tables" / "ledger.csv"
    ledger.save(rows, path)
    sample = base != root()
    for paper, part in rows.groupby("paper", sort=False):
        figure = overview.summary(part, title=PAPERS[paper], notice=SAMPLE_NOTICE if sample else "")
        figures.save(figure, f"summary_{paper}", sample=sample)
    say(coverage.coverage(rows).to_string())
    say(coverage.different_sentence(rows))
    say(f"\nledger    {path.relative_to(root())}\nfigures   {(base / 'figures').relative_to(root())}/"
        "\nnotebooks build/executed/ (with outputs)")
    if not real and parts:
        say(f"No real data could be had: this is {SAMPLE_NOTICE}, and the committed ledger and "
            "figures were left alone. `nlgjudge data fetch` says what is missing.")
    return path


def _read(name):
    return json.loads((root() / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))

