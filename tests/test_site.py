"""`make site`: pages of notebooks, tables, functions; the ledger as a table; the first result on the first screen."""

import json
import re
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import nbformat
import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.paths import root

MADE = {"questions.md", "tables/index.md"}  # when the site is built
# Every address that was published once; `make refresh` adds new ones.
ADDRESSES = (root() / "site" / "addresses.txt").read_text(encoding="utf-8").splitlines()
# Notebooks of which more than the beginning is looked at.
WHOLE = ("00_tour", "geval_figure1_method")
NAMES = sorted(path.stem for path in (root() / "notebooks").glob("*.ipynb"))
# Pixels above the first result, at most, by the width of the window.
HIGHEST = {1300: 850, 390: 1200}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SITE = ("site", "notebooks", "figures")  # folders that the site has
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


def test_every_address_that_was_published_is_still_there():
    rows = nj.ledger.committed()
    asked = "questions.html#" + pd.read_csv(root() / "site" / "questions.csv")["anchor"]
    assert set(ADDRESSES) <= {*rows["address"], *asked}
    by_row = rows.groupby(["paper", "artefact", "row"])["address"].unique()
    assert by_row.map(len).eq(1).all() and by_row.str[0].is_unique


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The site's source, with notebooks up to their first cell with an output, which decide where it is."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("site", "figures"):
        shutil.copytree(root() / name, folder / name)
    (folder / "notebooks").mkdir()
    for name in NAMES:
        book = nbformat.read(root() / "notebooks" / f"{name}.ipynb", as_version=4)
        first = next(i for i, cell in enumerate(book.cells) if cell.get("outputs"))
        if name not in WHOLE:
            book.cells = book.cells[: first + 1]
        nbformat.write(book, folder / "notebooks" / f"{name}.ipynb")
    return folder


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    """A folder with the built site."""
    for name in ("sphinx", "myst_nb", "itables", "sphinx_book_theme", "latex2mathml"):
        pytest.importorskip(name)
    html = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", source / "site", source, html]
    # Links to what is cut off lead nowhere.
    known = "ref.python,mystnb.unknown_mime_type,config.cache,myst.xref_missing"
    command += ["-D", f"suppress_warnings={known}"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-2000:]
    return html


def test_the_sidebar_has_short_groups_of_short_titles():
    text = (root() / "site" / "index.md").read_text(encoding="utf-8")
    groups = [block.split("\n\n")[1].splitlines() for block in text.split("```{toctree}")[1:]]
    assert len(groups) > 5
    for lines in groups:
        lines = [line for line in lines if line != "```"]
        assert len(lines) <= 8
        assert all(len(line.partition(" <")[0].split()) <= 5 for line in lines)


def test_the_judges_are_listed_by_task_without_a_price(site):
    page = (site / "site" / "judges.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", " ", page.partition("<article")[2])
    assert "Find your task" in text.partition("Summaries")[0]
    assert "$" not in text.partition("All judges, aspects")[0]
    words = pd.read_csv(root() / "site" / "prompts.csv", keep_default_na=False)["prompt"]
    assert {*nj.ledger.judges()["prompt"]} <= {*words}


@pytest.fixture(scope="module")
def plain(source, tmp_path_factory):
    """A folder whose `notebooks` has a page for each, made by nbconvert."""
    from nbconvert import HTMLExporter

    html = tmp_path_factory.mktemp("plain")
    (html / "notebooks").mkdir()
    for path in (source / "notebooks").glob("*.ipynb"):
        page, _ = HTMLExporter().from_filename(str(path))
        (html / "notebooks" / f"{path.stem}.html").write_text(page, encoding="utf-8")
    return html


def test_the_site_has_the_ledger_as_a_searchable_table(site):
    page = (site / "site" / "ledger.html").read_text(encoding="utf-8")
    assert "ITable" in page and "G-EVAL-4 - Description" in page
    table = (site / "site" / "tables" / "geval_table1.html").read_text(encoding="utf-8")
    assert "<title>G-Eval (EMNLP 2023), Table 1" in table
    for row in ("rouge-1", "bertscore", "g-eval-4-cot"):
        assert f'id="{row}"' in table
    judges = (site / "site" / "judges.html").read_text(encoding="utf-8")
    assert "text-bison-001" in judges and "ITable" in judges
    misread = (site / "site" / "tables" / "llmbar_table8.html").read_text(encoding="utf-8")
    right = nj.Finding("llmbar_table2_table5_table6_table7_table8_table9_models").values["right"]
    assert f"{right.value:.3f}" in misread.partition("<table")[0]
    asked = (site / "site" / "questions.html").read_text(encoding="utf-8")
    home = (site / "site" / "index.html").read_text(encoding="utf-8")
    for address in ADDRESSES:
        page_name, _, place = address.partition("#")
        if page_name == "questions.html":
            assert f'id="{place}"' in asked
    values = nj.Finding("01_papers").values
    said = f"{values['all, reproduces'].value:,.0f} of {values['all, cells'].value:,.0f} published"
    assert said in home
    assert "00_index.png" in home and home.count('href="questions.html#') == 5
    searched = (site / "searchindex.js").read_text(encoding="utf-8").lower()
    titles = searched.partition('"alltitles"')[2].partition('"docnames"')[0]
    for word in ("cot", "bertscore", "temperature", "agreement", "g-eval"):
        assert word in titles
    columns = re.findall(r"<th>([^<]*)</th>", page)
    assert columns[:5] == ["row", "aspect", "published", "ours", "verdict"]
    assert 'src="http' not in page.split("<body")[1]
    assert "MathML" in (site / "notebooks" / "geval_figure1_method.html").read_text(
        encoding="utf-8"
    )
    tour = (site / "notebooks" / "00_tour.html").read_text(encoding="utf-8")
    assert 'href="../site/glossary.html' in tour
    assert (site / "site" / "guide" / "own_data.html").exists()
    for path in ("nlgjudge.correlation", "nlgjudge.ledger.claims", "nlgjudge.papers.dhp.perturb"):
        assert (site / "site" / "api" / f"{path}.html").exists()
    function = (site / "site" / "api" / "nlgjudge.rerun.html").read_text(encoding="utf-8")
    assert "Literal" in function and "float" in function  # types are in the signature


def texts():
    """Every document and notebook with what a reader sees of it: text, and Markdown that cells print."""
    for pattern in ("*.md", "*/README.md", "data/sample/*.md", "site/**/*.md", "notebooks/*.ipynb"):
        for path in root().glob(pattern):
            yield path, seen(path)


def seen(path):
    """Text of a document; of a notebook its Markdown, written or printed."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        parts.append("".join(cell["source"]) if cell["cell_type"] == "markdown" else "")
        parts += [
            "".join(one.get("data", {}).get("text/markdown", [])) for one in cell.get("outputs", [])
        ]
    return "\n\n".join(parts)


def headings(path):
    """Anchors of the headings of a document or notebook, as GitHub and the site write them."""
    titles = re.findall(r"^#+ (.*)$", seen(path), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in titles}


def test_the_index_links_its_sections():
    index = root() / "notebooks" / "00_index.ipynb"
    inside = re.findall(r"\]\(#([^)]+)\)", seen(index))
    assert len(set(inside)) > 15 and set(inside) <= headings(index)


def test_every_short_answer_of_the_index_has_its_values():
    """A value that a finding lacks is shown as an ellipsis."""
    assert "…" not in seen(root() / "notebooks" / "00_index.ipynb")


def test_every_link_within_the_repository_leads_somewhere():
    """Read as files on a code host; the site keeps the places of its folders, and has no other."""
    links = [
        (path, target)
        for path, text in texts()
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if not re.match(r"\w+:|#", target)
    ]
    assert len(links) > 300
    dead = []
    for path, target in links:
        name, _, anchor = target.partition("#")
        file = path.parent / name
        if name in MADE:
            continue
        there = path.relative_to(root()).parts[0] not in SITE
        there |= file.resolve().relative_to(root()).parts[0] in SITE
        if not there or not file.exists() or anchor and anchor not in headings(file):
            dead.append((path.name, target))
    assert dead == []


@pytest.mark.parametrize("kind", ["plain", "site"])
@pytest.mark.parametrize("width", HIGHEST)
def test_the_first_result_is_on_the_first_screen(kind, width, browser, request):
    pages = request.getfixturevalue(kind)
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
