"""`make site`: pages of the notebooks, the ledger as a table, and the functions that the package exports."""

import json
import re
import shutil
import subprocess
import sys
import types

import pytest

import nlgjudge as nj
from nlgjudge import papers
from nlgjudge.data.paths import root

PAPERS = tuple(papers.modules())


def exported():
    """Every exported callable, as the page of functions names it."""
    spaces = {"nlgjudge": nj}
    for name in nj.__all__:
        space = getattr(nj, name)
        if isinstance(space, types.ModuleType) and name != "figures":
            spaces[f"nlgjudge.papers.{name}" if name in PAPERS else f"nlgjudge.{name}"] = space
    return {
        f"{path}.{name}"
        for path, space in spaces.items()
        for name in space.__all__
        if callable(getattr(space, name))
    }


def test_the_page_of_functions_lists_what_is_exported():
    page = (root() / "site" / "api.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^   (nlgjudge\.[\w.]+)$", page, re.M)) == exported()


def test_the_site_is_built_with_the_ledger_as_a_searchable_table(tmp_path):
    """Two notebooks replace all; the test of links looks at the others."""
    for name in ("sphinx", "myst_nb", "itables", "sphinx_book_theme", "latex2mathml"):
        pytest.importorskip(name)
    source = tmp_path / "source"
    shutil.copytree(root() / "site", source / "site")
    (source / "notebooks").mkdir()
    for name in ("00_tour", "geval_figure1_method"):
        shutil.copy(root() / "notebooks" / f"{name}.ipynb", source / "notebooks")
    html = tmp_path / "html"
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-c", source / "site", source, html],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr[-2000:]
    page = (html / "site" / "ledger.html").read_text(encoding="utf-8")
    assert "ITable" in page and "G-EVAL-4 - Description" in page
    columns = re.findall(r"<th>([^<]*)</th>", page)
    assert columns[:5] == ["row", "aspect", "published", "ours", "verdict"]
    assert 'src="http' not in page.split("<body")[1]
    assert "MathML" in (html / "notebooks" / "geval_figure1_method.html").read_text(
        encoding="utf-8"
    )
    tour = (html / "notebooks" / "00_tour.html").read_text(encoding="utf-8")
    assert 'href="../site/glossary.html' in tour
    assert (html / "site" / "guide" / "own_data.html").exists()


def texts():
    """Every document and notebook with what a reader sees of it: text, and Markdown that cells print."""
    for pattern in ("*.md", "*/README.md", "data/sample/*.md", "site/**/*.md"):
        for path in root().glob(pattern):
            yield path, path.read_text(encoding="utf-8")
    for path in root().glob("notebooks/*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            yield path, "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""
            for output in cell.get("outputs", []):
                yield path, "".join(output.get("data", {}).get("text/markdown", []))


def headings(path):
    """Anchors of a document's headings, as GitHub and the site write them."""
    found = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in found}


def test_every_link_within_the_repository_leads_somewhere():
    """Read as files on a code host; the site keeps the folders' places."""
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
        if not file.exists() or anchor and anchor not in headings(file):
            dead.append((path.name, target))
    assert dead == []


def test_the_settings_stay_short():
    lines = (root() / "site" / "conf.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
