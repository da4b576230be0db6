"""Notebooks in JupyterLab itself: opened in a browser, run to the end, and looked at; a report on a phone.

Headless Chromium is driven over its DevTools protocol. Skipped where either program is missing.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from urllib.request import Request, urlopen

import nbformat
import pytest

import chromium
import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.data.paths import root
from nlgjudge.studies.your_own_data import limited

until = chromium.until
pytestmark = [
    *chromium.MARKS,
    pytest.mark.skipif(not find_spec("jupyterlab"), reason="jupyterlab is not installed"),
]
TOKEN = "only-for-this-test"
PANEL = "[...app.shell.widgets('main')].find(w => w.sessionContext)"
CELLS = f"{PANEL}.content.widgets.filter(c => c.model.type === 'code')"
# All cells have run, or one has failed.
FINISHED = f"""{{
    const models = {CELLS}.map(c => c.model);
    const failed = m => m.sharedModel.getOutputs().some(o => o.output_type === 'error');
    return models.some(failed) ||
        (models.every(m => m.executionCount) && {PANEL}.sessionContext.session.kernel.status === 'idle') }}"""
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PROGRESS = """import tempfile
import nlgjudge as nj
from nlgjudge.judging.store import Store
items = nj.load("summeval", "sample").items
store = Store(tempfile.mkdtemp() + "/replies.sqlite")  # replies of an earlier run would cost no call
judge = nj.get_judge("openai:test-model", store=store, progress=True)
scores = nj.judge_items(items, ["geval/summarization/fluency"], judge)["score"]
assert (scores == 4).all()"""


def stop(process):
    """End a process with all that it started."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signum)
            process.wait(600)


@pytest.fixture(scope="module")
def server():
    """A model that gives every text a 4, slowly enough to watch."""
    with Loopback(lambda *_: completion(["4"]), delay=0.05) as made:
        yield made


@pytest.fixture(scope="module")
def lab(tmp_path_factory, server):
    """JupyterLab's address and the folder that it shows; its kernels use the sample."""
    home = tmp_path_factory.mktemp("lab")
    work = home / "work"
    work.mkdir()
    folders = {
        f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")
    }
    environment = (
        os.environ
        | folders
        | {
            "NLGJUDGE_ROOT": str(root()),
            "NLGJUDGE_OUT": str(home / "out"),
            "NLGJUDGE_MIRROR": "",
            "NLGJUDGE_OFFLINE": "1",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "spaces"),
            "IPYTHONDIR": str(home / "ipython"),
            "no_proxy": "127.0.0.1",
        }
    )
    with open(home / "log", "w") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyterlab",
                "--no-browser",
                "--allow-root",
                "--ServerApp.port=0",
                "--ServerApp.ip=127.0.0.1",
                f"--IdentityProvider.token={TOKEN}",
                f"--ServerApp.root_dir={work}",
                "--LabApp.expose_app_in_browser=True",
                "--LabApp.news_url=None",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            ],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:

        def address():
            assert process.poll() is None, (home / "log").read_text()[-2000:]
            note = next(iter((home / "runtime").glob("jpserver-*.json")), None)
            return note and json.loads(note.read_text() or "{}").get("url")

        url = until(address, "JupyterLab's start")
        yield url, work
        ask(url, "api/shutdown", "POST")  # kernels go with the server
        process.wait(120)
    finally:
        stop(process)


def ask(url, path, method="GET"):
    """Call the server's own interface."""
    request = Request(f"{url}{path}", method=method, headers={"Authorization": f"token {TOKEN}"})
    with urlopen(request, timeout=120) as answer:
        return json.loads(answer.read() or "null")


class Page(chromium.Page):
    """A page of JupyterLab, which has messages of its own on the console: exceptions alone are errors."""

    def send(self, method, **parameters):
        """Send a command; its result is empty while the page is being replaced."""
        try:
            return super().send(method, **parameters)
        except AssertionError as error:
            if "context" not in str(error):
                raise
            return {"result": {}}

    def _note(self, event, about):
        if event in ("Runtime.exceptionThrown", "Network.requestWillBeSent"):
            super()._note(event, about)

    def js(self, code):
        """Evaluate an expression, awaiting promises; `app` is JupyterLab."""
        return super().js(f"(async (app) => {code})(window.jupyterapp)")


@pytest.fixture(scope="module")
def page():
    """An empty page of a browser."""
    with chromium.browser(Page) as opened:
        yield opened


@pytest.fixture
def run(lab, page):
    """Open a notebook without outputs, run all its cells and wait for the last; end its kernel afterwards.

    The first one is opened by its address, which loads JupyterLab, and the next ones from its list of files.
    """
    url, work = lab

    def opened(notebook, name):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, work / f"{name}.ipynb")
        if page.js("!!app"):
            page.js(
                f"{{ await app.commands.execute('filebrowser:open-path', {{path: '{name}.ipynb'}}) }}"
            )
        else:
            page.send("Page.navigate", url=f"{url}lab/tree/{name}.ipynb?token={TOKEN}&reset")
        until(
            lambda: page.js(
                f"app?.shell && {PANEL}?.sessionContext.session?.kernel?.status === 'idle'"
            ),
            "an idle kernel",
            pause=0.2,
        )
        page.js(
            f"{{ app.shell.activateById({PANEL}.id);"
            " app.commands.execute('notebook:run-all-cells') }"
        )  # not awaited: it lasts
        until(lambda: page.js(FINISHED), f"the end of {name}", 300, pause=0.2)
        return page.js(
            f"{CELLS}.map(c => [c.model.executionCount, c.model.sharedModel.getOutputs()])"
        )

    yield opened
    page.js(
        f"{{ await {PANEL}.context.save(); {PANEL}.close() }}"
    )  # else the next page asks whether to leave
    for session in ask(url, "api/sessions"):
        ask(url, f"api/sessions/{session['id']}", "DELETE")


def shown(page, place, selector):
    """Scroll to a code cell and return size and text of what is visible of a part of its output."""
    return until(
        lambda: page.js(f"""{{
        const content = {PANEL}.content, cell = {CELLS}[{place}];
        await content.scrollToItem(content.widgets.indexOf(cell));
        const part = cell.node.querySelector('.jp-OutputArea {selector}');
        part?.scrollIntoView({{block: 'center'}});
        const box = part?.getBoundingClientRect();
        if (!box || !box.width || !box.height || !part.checkVisibility()) return null;
        const top = document.elementFromPoint(box.x + box.width / 2, Math.min(box.y + box.height / 2, 880));
        return part.contains(top) ? {{width: box.width, height: box.height, text: part.innerText,
                                      natural: part.naturalWidth}} : null }}"""),
        f"output {selector} of code cell {place}",
    )


@pytest.mark.parametrize("name", ["00_tour", "template_ablation"])
def test_a_notebook_runs_and_shows_its_figures(name, run, page):
    cells = run(nbformat.read(root() / "notebooks" / f"{name}.ipynb", as_version=4), name)
    outputs = [(place, output) for place, (_, found) in enumerate(cells) for output in found]
    assert not [o.get("evalue") for _, o in outputs if o["output_type"] == "error"]
    assert not [o["text"] for _, o in outputs if o.get("name") == "stderr"]
    figures = [place for place, o in outputs if "image/png" in o.get("data", {})]
    assert figures
    for place in figures:
        box = shown(page, place, "img")
        assert box["natural"] > 300 and box["width"] > 300 and box["height"] > 100
    tables = [
        place for place, o in outputs if "<table" in "".join(o.get("data", {}).get("text/html", ""))
    ]
    assert tables and shown(page, tables[0], "table")["text"].strip()
    assert not page.errors


def test_a_progress_bar_is_drawn_and_an_error_is_seen(run, page, server):
    """Such an error in one of the notebooks above would be found in the same way."""
    cells = [nbformat.v4.new_code_cell(text) for text in (PROGRESS, "1 / 0", "2")]
    (_, outputs), (_, failed), (count, _) = run(
        nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), "progress"
    )
    assert not [o["evalue"] for o in outputs if o["output_type"] == "error"]
    text = shown(page, 0, "pre")["text"]
    assert "100%|██████████|" in text and "72/72" in text and "calls=72" in text
    assert text.strip().count("judging:") == 1  # one bar that moved, not a line for every step
    assert len(server.requests) == 72
    assert [o["ename"] for o in failed] == ["ZeroDivisionError"] and count is None


def test_the_report_on_your_own_data_fits_a_phone(page, tmp_path):
    sample = nj.load("summeval", "sample")
    found = nj.evaluate(limited(sample, 3), resamples=20, permutations=19)
    path = nj.studies.your_own_data.page(found, tmp_path / "report.html", notes=["longword" * 30])
    page.send(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=800,
        deviceScaleFactor=2,
        mobile=True,
    )
    page.send("Page.navigate", url=path.as_uri())
    until(lambda: page.js("document.readyState === 'complete'"), "the report")
    assert page.js("document.documentElement.scrollWidth") <= 390
    strips = page.js(
        "[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width)"
    )
    assert len(strips) == len(found.table) and min(strips) > 300


def test_nothing_else_was_asked(page):
    """After the tests above: the browser spoke to this machine only."""
    assert page.requests and not [
        url
        for url in page.requests
        if url.startswith("http") and not url.startswith(("http://127.0.0.1:", "http://localhost:"))
    ]
