"""What the commands of the README cost, in seconds of processor time, all their processes together.

Notebooks in copies of one process beside notebooks that each start Python and a kernel, on a notebook that does
nothing. With ``--long``, in a clone of the last commit with an environment and a cache of its own: installation,
`make reproduce` with nothing but the data at hand, again with nothing to do, again with the scores at hand,
`make test` after it, `nlgjudge validate` and `make test` by themselves, and `.ci/run`. That takes more than half an
hour on two cores.

With ``--record`` one command is run here, once, as it is; what it cost enters the history under the name that is
given first, and from there every later ``build/bench.md``. A command that fails is not recorded.

    python benchmarks/commands.py [--long]
    python benchmarks/commands.py --record "make test, scores at hand" make test
"""

import argparse
import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from run import COLUMNS, HISTORY, commit, machine, options, record, remember

from nlgjudge.data.paths import root

RUN = [sys.executable, "-m", "nlgjudge.repo.cli"]
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux's prctl


def seconds(command, **given):
    """Run a command; processor time of it and of all that it started, also of what outlived it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, **{"stdout": subprocess.DEVNULL} | given)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def empty_notebook(path):
    """Write a notebook that does no more than every notebook has to."""
    import nlgjudge.repo  # noqa: F401, I001  before nbformat: it saves the grammar that jsonschema builds at import
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook

    cells = [new_code_cell("size = 3", metadata={"tags": ["parameters"]}),
             new_code_cell("import nlgjudge as nj\nnj.load\nnj.stats.holm\nnj.signature()")]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


def starts(count):
    """Processor time of so many empty notebooks, in copies and anew."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty.ipynb")
        empty_notebook(path)
        run = " ".join([*RUN, "run", str(path), "-o", str(Path(folder, "out.ipynb"))])
        script = ["sh", "-ec", f"for i in $(seq {count}); do {run}; done"]
        ours = seconds([*RUN, "serve", *script], stderr=subprocess.DEVNULL)
        theirs = seconds(script, stderr=subprocess.DEVNULL)
    print(f"{count} empty notebooks: {ours:.1f} s in copies of one process, {theirs:.1f} s anew")
    record(f"CPU of {count} empty notebooks; theirs: a new process and kernel each", ours, theirs)


def commands():
    """Processor time of each command, in a clone of the last commit."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "nlgjudge")
        subprocess.run(["git", "clone", "--quiet", str(root()), str(clone)], check=True)
        given = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NLGJUDGE_OUT")}
        given |= {"NLGJUDGE_CACHE": str(Path(folder, "cache"))}
        how = {"cwd": clone, "env": given}
        nlgjudge = clone / ".venv" / "bin" / "nlgjudge"
        timed("installation", ["make", f"PYTHON={sys.executable}", ".venv/stamp"], **how)
        seconds([nlgjudge, "resolve"], **how)  # the data, over a network whose speed is nobody's merit
        timed("make reproduce, no scores at hand", ["make", "reproduce"], **how)
        timed("make reproduce, nothing to do", ["make", "reproduce"], **how)
        shutil.rmtree(clone / "build")
        timed("make reproduce, scores at hand", ["make", "reproduce"], **how)
        timed("make test, after make reproduce", ["make", "test"], **how)
        shutil.rmtree(clone / "build")  # with what else would be compared and not run
        for kept in ("lexical", "readings"):
            shutil.rmtree(Path(folder, "cache", kept))
        timed("nlgjudge validate, no scores at hand", [nlgjudge, "validate"], **how)
        timed("make test, scores at hand", ["make", "test"], **how)
        timed("both passes of .ci/run", [".ci/run"], **how)


def timed(what, command, **how):
    """Print and record a command's processor time."""
    ours = seconds(command, **how)
    print(f"{what}: {ours:.0f} s", flush=True)
    record(f"CPU of {what}", ours)


def keep(what, command):
    """Run a command here and add its processor time to the history; return its exit status."""
    described = machine()
    of_commit = commit()
    try:
        ours = seconds(command, stdout=None)
    except subprocess.CalledProcessError as error:
        print(f"{what}: status {error.returncode}, nothing is recorded", file=sys.stderr)
        return abs(error.returncode)
    row = [Path(__file__).stem, f"CPU of {what}", ours, None, "s", None]
    remember(pd.DataFrame([row], columns=COLUMNS), described, of_commit)
    print(f"{what}: {ours:.1f} s of processor time, now in {HISTORY.name}")
    return 0


def main():
    parser = options(__doc__)
    parser.add_argument("--record", nargs=argparse.REMAINDER, metavar="WHAT COMMAND",
                        help="run this command here and add what it cost to the history, under this name")
    chosen = parser.parse_args()
    if chosen.record is not None and len(chosen.record) < 2:
        parser.error('expected a name and a command, as --record "make test, scores at hand" make test')
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
    if chosen.record:
        return keep(chosen.record[0], chosen.record[1:])
    starts(1 if chosen.quick else 6)
    if chosen.long:
        commands()
    return 0


if __name__ == "__main__":
    sys.exit(main())
