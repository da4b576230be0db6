"""Sphinx settings. `make site` copies this folder and the notebooks to build/site/source, side by side as here."""

import html
import sys
from pathlib import Path
from types import ModuleType

from docutils import nodes
from latex2mathml.converter import convert

import nlgjudge as nj
from nlgjudge.data.paths import root
from nlgjudge.ledger import ledger

sys.path.insert(0, str(Path(__file__).parent))
import pages  # noqa: E402

project = "nlgjudge"
author = project_copyright = "The nlgjudge authors"
root_doc = "site/index"
extensions = ["myst_nb", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_google_docstring = False
smartquotes = False
default_role = "code"
add_module_names = False
nb_execution_mode = "off"  # the notebooks are shown as committed
nb_merge_streams = True
nb_render_markdown_format = "myst"  # links between notebooks that cells print
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["ref.python", "mystnb.unknown_mime_type", "config.cache"]
html_theme = "sphinx_book_theme"
html_title = "nlgjudge"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "home_page_in_toc": True,
    "navbar_persistent": [],
    "show_toc_level": 2,
    "collapse_navbar": True,
}
html_math_renderer = "mathml"  # browsers draw it themselves, without a network

# Columns of the ledger's page: first, then, and on demand.
FIRST = ["row", "aspect", "published", "ours", "verdict"]
THEN = ["paper", "artefact", "dataset", "level", "coefficient", "ci_low", "ci_high", "group"]
LAST = ["evidence", "variant", "notebook", "note"]


def _math(self, node):
    tag = "div" if isinstance(node, nodes.math_block) else "span"
    formula = convert(node.astext(), display="block" if tag == "div" else "inline")
    self.body.append(f'<{tag} class="math">{formula}</{tag}>')
    raise nodes.SkipNode


def _functions():
    """The page of functions: what each namespace exports."""
    spaces = {"nj": nj}
    for name in nj.__all__:
        if isinstance(getattr(nj, name), ModuleType):
            spaces[f"nj.{name}"] = getattr(nj, name)
    for title, space in spaces.items():
        names = [one for one in getattr(space, "__all__", []) if callable(getattr(space, one))]
        if names:
            yield f"## `{title}`\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: api\n   :nosignatures:\n\n"
            yield "".join(f"   {space.__name__}.{one}\n" for one in names) + "```\n\n"


def setup(app):
    """Write the pages made from committed results, and register the renderer of formulas."""
    site = Path(app.srcdir) / "site"
    pages.write(site)
    page = site / "api.md"
    page.write_text(page.read_text(encoding="utf-8") + "".join(_functions()), encoding="utf-8")
    rows = ledger.read(root() / "paper_tables" / "ledger.csv")
    links = zip(rows["address"], rows["row"].map(html.escape))
    rows["row"] = [f'<a href="{address}">{row}</a>' for address, row in links]
    rows = rows[[*FIRST, *THEN, *LAST]].round(3)
    table = pages.sortable(rows, on_demand=LAST, allow_html=True)
    (site / "ledger_table.html").write_text(table, encoding="utf-8")
    app.add_html_math_renderer("mathml", (_math, None), (_math, None))
