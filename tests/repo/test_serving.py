"""Notebooks in copies of one process: each alone, nothing left behind, and failures that name the notebook."""

import json
import os
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
SIGNATURE = "import nlgjudge as nj\nnj.signature()"
WAITS = """import os, time
from pathlib import Path
Path({path!r}).write_text(f"{{os.getpid()}} {{os.getppid()}}")
time.sleep(600)"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")


@pytest.fixture
def write(tmp_path):
    """Write a notebook of a parameters cell, the given cells and the signature."""
    def notebook(name, *cells):
        codes = [new_code_cell(cell) for cell in (*cells, SIGNATURE)]
        first = new_code_cell("size = 3", metadata={"tags": ["parameters"]})
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(new_notebook(cells=[new_markdown_cell(f"# {name}"), first, *codes], metadata={
            "nlgjudge": {"benchmarks": []}, "kernelspec": kernel}), path)
        return path
    return notebook


def served(tmp_path, *paths, **options):
    """Start a server whose command runs notebooks one after the other, and goes on after a failure."""
    script = "\n".join(f"{' '.join(COMMAND)} run {path} -o {tmp_path / 'out' / path.name} -p size 5; echo status $?"
                       for path in paths)
    return subprocess.Popen([*COMMAND, "serve", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True, **options)


def printed(tmp_path, path):
    executed = nbformat.read(tmp_path / "out" / path.name, as_version=4)
    return [o["text"] for c in executed.cells if c.cell_type == "code" for o in c.outputs if "text" in o]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(true, seconds=300):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def test_no_state_passes_from_one_notebook_to_the_next(write, tmp_path):
    shows = """import sys, os, random, warnings, numpy as np, pandas as pd, matplotlib
print(size, sorted(n for n in sys.modules if n.startswith("nlgjudge")), "leak" in os.environ,
      pd.get_option("display.precision"), matplotlib.rcParams["font.size"], len(warnings.filters))"""
    leaks = """import nlgjudge as nj
nj.stats.holm
os.environ["leak"] = "yes"
pd.set_option("display.precision", 2)
matplotlib.rcParams["font.size"] = 33
warnings.simplefilter("ignore")"""
    draws = "print(np.random.random(), random.random())"
    paths = [write("first", shows, leaks, draws), write("second", shows, leaks, draws)]
    server = served(tmp_path, *paths)
    out, err = server.communicate(timeout=600)
    assert server.returncode == 0 and out.count("status 0") == 2, err
    (first, drawn), (second, drawn_then) = (printed(tmp_path, path) for path in paths)
    assert first == second and first.startswith("5 [] False 6 10.0")
    assert drawn != drawn_then  # two processes, two seeds
    notes = [json.loads((tmp_path / "out" / f"{path.stem}.deps.json").read_text()) for path in paths]
    assert notes[0] == notes[1]
    assert any(name.endswith("stats/testing.py") for name in notes[0])
    assert not any("/repo/" in name for name in notes[0])  # else a change of the runner would run all again


def test_a_copy_has_the_settings_of_a_new_kernel(write, tmp_path):
    """Some libraries look for a kernel when they are imported: how tables and figures are shown depends on it."""
    shows = """import sys, os, numpy as np, pandas as pd, matplotlib, matplotlib.pyplot as plt
pd.set_option("display.encoding", "utf-8")
pd.describe_option()
print(dict(matplotlib.rcParams), np.get_printoptions(), sys.path, os.getcwd())
print(sorted(name for name in os.environ if "NLGJUDGE" not in name), plt.get_backend(), __name__)"""
    table = "display(pd.DataFrame(np.ones((3, 30))))\nplt.plot([1, 2]);"
    path = write("shows", shows, table)
    server = served(tmp_path, path)
    assert "status 0" in server.communicate(timeout=600)[0]
    copied = nbformat.read(tmp_path / "out" / path.name, as_version=4)
    subprocess.run([*COMMAND, "run", path, "-o", tmp_path / "anew.ipynb", "-p", "size", "5"], check=True)
    anew = nbformat.read(tmp_path / "anew.ipynb", as_version=4)
    outputs = [[cell.get("outputs") for cell in notebook.cells] for notebook in (copied, anew)]
    for cells in outputs:  # found in the kernel's own stream, in capitals or not
        cells[-3][0]["text"] = cells[-3][0]["text"].replace("[default: UTF-8]", "[default: utf-8]")
    # How pandas stores texts is the one setting that differs, on purpose: it changes no result.
    stored = outputs[0][-3][0]["text"]
    assert stored.count("[default: auto] [currently: python]") == 1
    outputs[0][-3][0]["text"] = stored.replace("[currently: python]", "[currently: auto]")
    assert outputs[0] == outputs[1]
    assert "image/png" in outputs[0][-2][-1]["data"] and "..." in outputs[0][-2][0]["data"]["text/plain"]


def test_a_kernel_that_dies_and_a_cell_that_fails_name_their_notebook(write, tmp_path):
    paths = [write("killed", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
             write("failing", "1 / 0"), write("well", "print(size)")]
    server = served(tmp_path, *paths)
    out, err = server.communicate(timeout=600)
    assert "killed.ipynb, cell 2: the kernel died" in err
    assert "failing.ipynb, cell 2: ZeroDivisionError: division by zero" in err
    assert [line for line in out.splitlines() if line.startswith("status")] == ["status 1", "status 1", "status 0"]
    assert printed(tmp_path, paths[2]) == ["5\n"]


@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_nothing_is_left_when_the_server_ends(write, tmp_path, how):
    pids = tmp_path / "pids"
    server = served(tmp_path, write("waits", WAITS.format(path=str(pids))))
    until(lambda: pids.exists() and pids.read_text().count(" ") == 1)
    kernel, runner = map(int, pids.read_text().split())
    assert alive(kernel) and alive(runner)
    if how == "interrupt":
        os.killpg(server.pid, signal.SIGINT)  # as Ctrl-C does
    else:
        server.kill()
    server.wait(600)
    until(lambda: not alive(kernel) and not alive(runner))


def test_a_runner_ends_with_its_client(write, tmp_path):
    pids = tmp_path / "pids"
    path = write("waits", WAITS.format(path=str(pids)))
    client = f"{' '.join(COMMAND)} run {path} -o {tmp_path / 'out.ipynb'} & echo $! > {tmp_path / 'client'}; wait"
    server = subprocess.Popen([*COMMAND, "serve", "sh", "-c", f"{client}; sleep 600"], start_new_session=True)
    until(lambda: pids.exists() and pids.read_text().count(" ") == 1)
    os.kill(int((tmp_path / "client").read_text()), signal.SIGKILL)
    kernel, runner = map(int, pids.read_text().split())
    until(lambda: not alive(kernel) and not alive(runner))
    assert server.poll() is None
    os.killpg(server.pid, signal.SIGKILL)
    server.wait(600)


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
