"""Settings of Sphinx, for the sources that `build.py` writes."""

from functools import cache
from unittest.mock import patch

from docutils import nodes
from latex2mathml.converter import convert
from sphinx import addnodes
from sphinx.search.en import SearchEnglish

from nlgjudge.repo import (
    site,
)  # before myst_nb: it saves the grammar that jsonschema builds at import

project = "nlgjudge"
author = "The nlgjudge authors"
project_copyright = author
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
smartquotes = False
default_role = "code"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False

nb_execution_mode = "off"  # the notebooks are shown as committed
nb_ipywidgets_js = {}  # no scripts of other hosts
nb_merge_streams = True
nb_render_markdown_format = "myst"  # as pages are: its default knows no tables
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
# Outputs may hold a kind of data for other front ends beside the HTML that is shown.
suppress_warnings = ["mystnb.unknown_mime_type", "config.cache"]

html_theme = "sphinx_book_theme"
html_title = "nlgjudge"
html_context = {"default_mode": "auto"}  # light or dark as the reader's system
html_static_path = ["_static"]
html_extra_path = ["extra"]  # the records of reproducibility, which others link to
html_css_files = ["site.css"]
html_js_files = [("ledger.js", {"defer": "defer"})]
html_use_index = False
html_domain_indices = False
html_show_sphinx = False
html_theme_options = {
    "home_page_in_toc": True,
    "navbar_persistent": [],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "use_download_button": True,
    "use_fullscreen_button": False,
}
if site.repository():
    html_theme_options["icon_links"] = [
        {"name": "Repository", "url": site.repository(), "icon": "fa-solid fa-code-branch"}
    ]
html_math_renderer = "mathml"


def _math(self, node):
    """Formulas as MathML, which browsers draw themselves: no script, no other host."""
    block = isinstance(node, nodes.math_block)
    tag = "div" if block else "span"
    formula = convert(node.astext(), display="block" if block else "inline")
    self.body.append(f'<{tag} class="math">{formula}</{tag}>')
    raise nodes.SkipNode


class _Search(SearchEnglish):
    """English, whose stems are sought once for the site, not anew for every page."""

    def __init__(self, options):
        super().__init__(options)
        self.stem = cache(super().stem)


@cache
def _titles(env):
    """What Sphinx knows of each page's headings, without those that the navigation leaves out."""
    found = {}
    for page, headings in env.tocs.items():
        found[page] = headings.deepcopy()
        for entry in found[page]:
            if len(entry) > 1:
                pages = list(entry.findall(addnodes.toctree))
                entry[1:] = [nodes.bullet_list("", *pages)] if pages else []
    return found


def _navigate_by_titles(app, page, template, context, doctree):
    """Have the navigation of each page made from titles: else it copies all headings of the site for each."""
    navigation = context["toctree"]

    def from_titles(**options):
        with patch.object(app.env, "tocs", _titles(app.env)):
            return navigation(**options)

    context["toctree"] = from_titles


def setup(app):
    """Register the renderer of formulas, and what makes navigation and search in less time."""
    app.connect(
        "html-page-context", _navigate_by_titles, priority=400
    )  # before the theme asks for it
    app.add_html_math_renderer("mathml", (_math, None), (_math, None))
    app.add_search_language(_Search)
