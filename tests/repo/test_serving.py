"""Notebooks in copies of one process: each alone, nothing left behind, and failures that name the notebook."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from nlgjudge.repo import exits, serving

COMMAND = [sys.executable, "-m", "nlgjudge.repo.cli"]
# The same, but its server imports what a runner and a kernel need, and nothing for notebooks that compute.
LIGHT = [
    sys.executable,
    "-c",
    """import sys
from nlgjudge.repo import cli, forked
needed = ("IPython", "ipykernel", "nbclient", "papermill")
forked.COMMON = tuple(name for name in forked.COMMON if name.startswith(needed))
forked._PATTERNS = ()
sys.exit(cli.main(sys.argv[1:]))""",
]
SIGNATURE = "import nlgjudge as nj\nnj.signature()"
WAITS = """import os, time
from pathlib import Path
Path({path!r}).write_text(f"{{os.getpid()}} {{os.getppid()}}")
time.sleep(600)"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are copied on Linux alone"
)


def write_notebook(folder, name, *cells):
    """Write a notebook of a parameters cell, the given cells and the signature; return its path."""
    codes = [new_code_cell(cell) for cell in (*cells, SIGNATURE)]
    first = new_code_cell("size = 3", metadata={"tags": ["parameters"]})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / f"{name}.ipynb"
    nbformat.write(
        new_notebook(
            cells=[new_markdown_cell(f"# {name}"), first, *codes],
            metadata={"nlgjudge": {"benchmarks": []}, "kernelspec": kernel},
        ),
        path,
    )
    return path


def served(tmp_path, *paths, command=COMMAND, **options):
    """Start a server whose command runs notebooks one after the other, and goes on after a failure."""
    script = "\n".join(
        f"{' '.join(COMMAND)} run {path} -o {tmp_path / 'out' / path.name} -p size 5; echo status $?"
        for path in paths
    )
    return subprocess.Popen(
        [*command, "serve", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def printed(folder, name):
    executed = nbformat.read(folder / "out" / f"{name}.ipynb", as_version=4)
    return [
        o["text"] for c in executed.cells if c.cell_type == "code" for o in c.outputs if "text" in o
    ]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def when_waiting(pids):
    """Process numbers of a kernel and its runner, once the notebook that waits has noted them."""
    until(lambda: pids.exists() and pids.read_text().count(" ") == 1)
    kernel, runner = map(int, pids.read_text().split())
    assert alive(kernel) and alive(runner)
    return kernel, runner


def until(true, seconds=300):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


SHOWS_STATE = """import sys, os, random, warnings, numpy as np, pandas as pd, matplotlib
print(size, sorted(n for n in sys.modules if n.startswith("nlgjudge")), "leak" in os.environ,
      pd.get_option("display.precision"), matplotlib.rcParams["font.size"], len(warnings.filters))"""
LEAKS = """import nlgjudge as nj
nj.stats.holm
os.environ["leak"] = "yes"
pd.set_option("display.precision", 2)
matplotlib.rcParams["font.size"] = 33
warnings.simplefilter("ignore")"""
DRAWS = "print(np.random.random(), random.random())"
SHOWS_SETTINGS = """import sys, os, numpy as np, pandas as pd, matplotlib, matplotlib.pyplot as plt
pd.set_option("display.encoding", "utf-8")
pd.describe_option()
print(dict(matplotlib.rcParams), np.get_printoptions(), sys.path, os.getcwd())
print(sorted(name for name in os.environ if "NLGJUDGE" not in name), plt.get_backend(), __name__)"""
SHOWS_A_TABLE = "display(pd.DataFrame(np.ones((3, 30))))\nplt.plot([1, 2]);"
SAVES = """from pathlib import Path
import matplotlib.pyplot as plt
import nlgjudge as nj
figure, _ = plt.subplots(figsize=(3, 2))
nj.figures.save(figure, "mine", folder=Path("drawn"))
print(Path("drawn/figures/mine.png").resolve())"""
NOTEBOOKS = {
    "first": [SHOWS_STATE, LEAKS, DRAWS],
    "second": [SHOWS_STATE, LEAKS, DRAWS],
    "shows": [SHOWS_SETTINGS, SHOWS_A_TABLE],
    "saves": [SAVES],
    "killed": ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
    "failing": ["1 / 0"],
    "well": ["print(size)"],
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """What one server did with all these notebooks: its folder, its exit status, what it said, and on stderr."""
    folder = tmp_path_factory.mktemp("served")
    server = served(
        folder, *(write_notebook(folder, name, *cells) for name, cells in NOTEBOOKS.items())
    )
    out, err = server.communicate(timeout=600)
    statuses = re.findall(r"^status (\d+)$", out, re.M)
    return folder, server.returncode, dict(zip(NOTEBOOKS, map(int, statuses), strict=True)), err


def test_no_state_passes_from_one_notebook_to_the_next(done):
    folder, status, statuses, err = done
    assert status == statuses["first"] == statuses["second"] == 0, err
    (first, drawn), (second, drawn_then) = (printed(folder, name) for name in ("first", "second"))
    assert first == second and first.startswith("5 [] False 6 10.0")
    assert drawn != drawn_then  # two processes, two seeds
    notes = [
        json.loads((folder / "out" / f"{name}.deps.json").read_text())
        for name in ("first", "second")
    ]
    assert notes[0] == notes[1]
    assert any(name.endswith("stats/testing.py") for name in notes[0])
    assert not any(
        "/repo/" in name for name in notes[0]
    )  # else a change of the runner would run all again


def test_a_saved_figure_is_shown_once_and_is_its_file(done):
    folder, _, statuses, err = done
    assert statuses["saves"] == 0, err
    shown, said = nbformat.read(folder / "out" / "saves.ipynb", as_version=4).cells[-2].outputs
    assert shown["data"]["text/plain"] == "<Figure size 300x200 with 1 Axes>"
    assert shown["metadata"]["image/png"] == {"width": 300}
    assert base64.b64decode(shown["data"]["image/png"]) == Path(said["text"].strip()).read_bytes()


def test_a_copy_has_the_settings_of_a_new_kernel(done):
    """Some libraries look for a kernel when they are imported: how tables and figures are shown depends on it."""
    folder, _, statuses, err = done
    assert statuses["shows"] == 0, err
    copied = nbformat.read(folder / "out" / "shows.ipynb", as_version=4)
    subprocess.run(
        [*COMMAND, "run", folder / "shows.ipynb", "-o", folder / "anew.ipynb", "-p", "size", "5"],
        check=True,
    )
    anew = nbformat.read(folder / "anew.ipynb", as_version=4)
    outputs = [[cell.get("outputs") for cell in notebook.cells] for notebook in (copied, anew)]
    for cells in outputs:  # found in the kernel's own stream, in capitals or not
        cells[-3][0]["text"] = cells[-3][0]["text"].replace("[default: UTF-8]", "[default: utf-8]")
    # How pandas stores texts is the one setting that differs, on purpose: it changes no result.
    stored = outputs[0][-3][0]["text"]
    assert stored.count("[default: auto] [currently: python]") == 1
    outputs[0][-3][0]["text"] = stored.replace("[currently: python]", "[currently: auto]")
    assert outputs[0] == outputs[1]
    assert (
        "image/png" in outputs[0][-2][-1]["data"]
        and "..." in outputs[0][-2][0]["data"]["text/plain"]
    )


def test_a_kernel_that_dies_and_a_cell_that_fails_name_their_notebook(done):
    folder, _, statuses, err = done
    assert "killed.ipynb, cell 2: the kernel died" in err
    assert "failing.ipynb, cell 2: ZeroDivisionError: division by zero" in err
    assert (statuses["killed"], statuses["failing"], statuses["well"]) == (1, 1, 0)
    assert printed(folder, "well") == ["5\n"]


def test_nothing_is_left_when_the_server_is_interrupted(tmp_path):
    pids = tmp_path / "pids"
    server = served(
        tmp_path, write_notebook(tmp_path, "waits", WAITS.format(path=str(pids))), command=LIGHT
    )
    kernel, runner = when_waiting(pids)
    os.killpg(server.pid, signal.SIGINT)  # as Ctrl-C does
    server.wait(600)
    until(lambda: not alive(kernel) and not alive(runner))


def test_a_runner_ends_with_its_client_and_every_runner_when_the_server_is_killed(tmp_path):
    script = []
    for name in ("one", "two"):
        path = write_notebook(tmp_path, name, WAITS.format(path=str(tmp_path / f"{name}.pids")))
        script.append(
            f"{' '.join(COMMAND)} run {path} -o {tmp_path / 'out' / path.name} & "
            f"echo $! > {tmp_path / name}.client"
        )
    server = subprocess.Popen(
        [*LIGHT, "serve", "sh", "-c", "\n".join([*script, "sleep 600"])], start_new_session=True
    )
    one, two = (when_waiting(tmp_path / f"{name}.pids") for name in ("one", "two"))
    os.kill(int((tmp_path / "one.client").read_text()), signal.SIGKILL)
    until(lambda: not any(map(alive, one)))
    assert server.poll() is None and all(map(alive, two))
    server.kill()
    server.wait(600)
    until(lambda: not any(map(alive, two)))
    os.killpg(server.pid, signal.SIGKILL)  # the command that it ran


def test_the_commands_status_is_the_servers(monkeypatch):
    assert serving.serve(["sh", "-c", "exit 3"]) == 3
    monkeypatch.delenv(serving.SOCKET, raising=False)
    assert serving.ask(["run", "x.ipynb"]) is None
    monkeypatch.setenv(serving.SOCKET, "/nowhere/socket")
    assert serving.ask(["run", "x.ipynb"]) is None  # who served has ended: the caller does it alone


def test_a_command_that_starts_no_kernel_ends(served, tmp_path):
    """Its runner has a kernel ready that nobody takes."""
    (tmp_path / "no.ipynb").write_text("{}", encoding="utf-8")
    done = served.run("run", str(tmp_path / "no.ipynb"), "-o", str(tmp_path / "out.ipynb"))
    assert done.returncode == exits.FAILED and "no.ipynb is not a notebook" in done.stderr
