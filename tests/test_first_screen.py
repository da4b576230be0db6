"""Every notebook shows its first result on the first screen, measured in a browser: a plain page and the site."""

import json
import re
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import nbformat
import pytest

from nlgjudge.data.paths import root

NAMES = sorted(path.stem for path in (root() / "notebooks").glob("*.ipynb"))
# Pixels above the first result, at most, by the width of the window.
HIGHEST = {1300: 850, 390: 1200}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
RESULT = ".jp-OutputArea-output, .cell_output"
# Every page in a frame of the window's width; what was measured is written into the page.
FRAMES = """<body><script>
const pages = {pages};
const found = {{}};
for (const page of pages) {{
  const frame = document.createElement("iframe");
  frame.width = {width};
  frame.height = 900;
  frame.onload = () => {{
    const inside = frame.contentDocument;
    const result = inside.querySelector({result});
    const top = result && result.getBoundingClientRect().top + frame.contentWindow.scrollY;
    found[page] = [Math.round(top), inside.documentElement.clientWidth];
    if (Object.keys(found).length == pages.length) {{
      const text = document.createElement("pre");
      text.textContent = JSON.stringify(found);
      document.body.replaceChildren(text);
    }}
  }};
  frame.src = page;
  document.body.append(frame);
}}
</script></body>"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def browser():
    found = [path for path in map(shutil.which, BROWSERS) if path]
    if not found:
        pytest.skip("no Chromium on this machine")
    return found[0]


@pytest.fixture(scope="module")
def beginnings(tmp_path_factory):
    """The notebooks up to their first cell with an output, which decide where it is."""
    folder = tmp_path_factory.mktemp("beginnings") / "notebooks"
    folder.mkdir()
    for name in NAMES:
        book = nbformat.read(root() / "notebooks" / f"{name}.ipynb", as_version=4)
        first = next(i for i, cell in enumerate(book.cells) if cell.get("outputs"))
        book.cells = book.cells[: first + 1]
        nbformat.write(book, folder / f"{name}.ipynb")
    return folder


@pytest.fixture(scope="module", params=["plain", "site"])
def pages(request, beginnings, tmp_path_factory):
    """A folder whose `notebooks` has a page for each, made by nbconvert or by the site's settings."""
    html = tmp_path_factory.mktemp(request.param)
    if request.param == "plain":
        from nbconvert import HTMLExporter

        (html / "notebooks").mkdir()
        for path in beginnings.glob("*.ipynb"):
            page, _ = HTMLExporter().from_filename(str(path))
            (html / "notebooks" / f"{path.stem}.html").write_text(page, encoding="utf-8")
        return html
    pytest.importorskip("sphinx_book_theme")
    source = beginnings.parent
    shutil.copytree(root() / "site", source / "site")
    command = [sys.executable, "-m", "sphinx", "-q", "-c", source / "site", source, html]
    subprocess.run(command, check=True, capture_output=True)
    return html


@pytest.mark.parametrize("width", HIGHEST)
def test_the_first_result_is_on_the_first_screen(pages, width, browser):
    names = [f"notebooks/{name}.html" for name in NAMES]
    texts = {"pages": json.dumps(names), "width": width, "result": json.dumps(RESULT)}
    (pages / "frames.html").write_text(FRAMES.format(**texts), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(pages))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        measured = read(browser, f"http://127.0.0.1:{server.server_port}/frames.html")
        server.shutdown()
    assert {seen for _, seen in measured.values()} <= {width, width - 15}  # a scroll bar
    too_low = {name: top for name, (top, _) in measured.items() if not 0 < top < HIGHEST[width]}
    assert too_low == {}


def read(browser, address):
    """What a page writes of its frames; nothing beyond the loopback interface is loaded."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    command += ["--virtual-time-budget=60000", address]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(re.search(r"<pre>(.*)</pre>", shown)[1])
