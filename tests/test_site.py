"""`make site`: pages of the notebooks, the ledger as a table, and the functions that the package exports."""

import json
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.paths import root

MADE = {"headline.png", "questions.md", "tables/index.md"}  # when the site is built
# Every address that was published once; `make refresh` adds new ones.
ADDRESSES = (root() / "site" / "addresses.txt").read_text(encoding="utf-8").splitlines()


def test_every_address_that_was_published_is_still_there():
    rows = nj.ledger.committed()
    asked = "questions.html#" + pd.read_csv(root() / "site" / "questions.csv")["anchor"]
    assert set(ADDRESSES) <= {*rows["address"], *asked}
    by_row = rows.groupby(["paper", "artefact", "row"])["address"].unique()
    assert by_row.map(len).eq(1).all() and by_row.str[0].is_unique


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
    table = (html / "site" / "tables" / "geval_table1.html").read_text(encoding="utf-8")
    assert "<title>G-Eval (EMNLP 2023), Table 1" in table
    for row in ("rouge-1", "bertscore", "g-eval-4-cot"):
        assert f'id="{row}"' in table
    judges = (html / "site" / "judges.html").read_text(encoding="utf-8")
    assert "text-bison-001" in judges and "ITable" in judges
    asked = (html / "site" / "questions.html").read_text(encoding="utf-8")
    home = (html / "site" / "index.html").read_text(encoding="utf-8")
    for address in ADDRESSES:
        page_name, _, place = address.partition("#")
        if page_name == "questions.html":
            assert f'id="{place}"' in asked
    values = nj.Finding("01_papers").values
    for paper in ("all", "llmbar"):
        assert (
            f"{values[f'{paper}, reproduce'].value:,.0f} of {values[f'{paper}, cells'].value:,.0f} published"
            in home
        )
    assert "headline.png" in home and home.count('href="questions.html#') == 5
    searched = (html / "searchindex.js").read_text(encoding="utf-8").lower()
    titles = searched.partition('"alltitles"')[2].partition('"docnames"')[0]
    for word in ("cot", "bertscore", "temperature", "agreement", "g-eval"):
        assert word in titles
    columns = re.findall(r"<th>([^<]*)</th>", page)
    assert columns[:5] == ["row", "aspect", "published", "ours", "verdict"]
    assert 'src="http' not in page.split("<body")[1]
    assert "MathML" in (html / "notebooks" / "geval_figure1_method.html").read_text(
        encoding="utf-8"
    )
    tour = (html / "notebooks" / "00_tour.html").read_text(encoding="utf-8")
    assert 'href="../site/glossary.html' in tour
    assert (html / "site" / "guide" / "own_data.html").exists()
    for path in ("nlgjudge.correlation", "nlgjudge.ledger.claims", "nlgjudge.papers.dhp.perturb"):
        assert (html / "site" / "api" / f"{path}.html").exists()
    function = (html / "site" / "api" / "nlgjudge.rerun.html").read_text(encoding="utf-8")
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
    assert len(inside) == len(set(inside)) > 15 and set(inside) <= headings(index)


def test_every_short_answer_of_the_index_has_its_values():
    """A value that a finding lacks is shown as an ellipsis."""
    assert "…" not in seen(root() / "notebooks" / "00_index.ipynb")


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
        if name in MADE:
            continue
        if not file.exists() or anchor and anchor not in headings(file):
            dead.append((path.name, target))
    assert dead == []
