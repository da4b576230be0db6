"""`make site`: pages of the notebooks, the ledger as a table, and the functions that the package exports."""

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
    """Two notebooks stand for all, so that the links to the others are not checked here."""
    for name in ("sphinx", "myst_nb", "itables", "sphinx_book_theme", "latex2mathml"):
        pytest.importorskip(name)
    source = tmp_path / "source"
    shutil.copytree(root() / "site", source)
    (source / "notebooks").mkdir()
    for name in ("00_tour", "geval_figure1_method"):
        shutil.copy(root() / "notebooks" / f"{name}.ipynb", source / "notebooks")
    html = tmp_path / "html"
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", str(source), str(html)],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr[-2000:]
    page = (html / "ledger.html").read_text(encoding="utf-8")
    assert "ITable" in page and "G-EVAL-4 - Description" in page
    columns = re.findall(r"<th>([^<]*)</th>", page)
    assert columns[:5] == ["row", "aspect", "published", "ours", "verdict"]
    assert 'src="http' not in page.split("<body")[1]
    assert "MathML" in (html / "notebooks" / "geval_figure1_method.html").read_text(
        encoding="utf-8"
    )
    assert (html / "glossary.html").exists() and (html / "guide" / "own_data.html").exists()


def test_the_settings_stay_short():
    lines = (root() / "site" / "conf.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
