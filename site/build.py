"""Write what Sphinx builds into a folder: this one, the notebooks, and the pages of `templates/`.

`make site` calls it as ``python site/build.py build/site/source``.
"""

import json
import re
import shutil
import sys
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.ledger import ledger
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.ledger.verdicts import OF_OTHERS
from nlgjudge.repo import coverage, site


def plain(text):
    """Text that Markdown shows as it is, each line a line."""
    return re.sub(r"([\\`*_{}\[\]<>$|#~])", r"\\\1", text).replace("\n", "\\\n")


def write(folder):
    """Write the sources; the folder is emptied first."""
    here, folder = root() / "site", Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(here, folder, ignore=shutil.ignore_patterns("*.py[c]", "templates", "build.py", "*.csv"))
    rows, books = ledger.read(root() / "paper_tables" / "ledger.csv"), site.notebooks()
    shared = {"books": books, "groups": site.GROUPS, "names": PAPERS, "counts": site.COUNTS,
              "notice": SAMPLE_NOTICE}
    jinja = Environment(loader=FileSystemLoader(here / "templates"), undefined=StrictUndefined,
                        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    jinja.filters["plain"] = plain

    def page(name, template, **values):
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(jinja.get_template(template).render(**shared, **values), encoding="utf-8")

    benchmarks, api = site.benchmarks(rows, books), site.api()
    papers = [key for key in PAPERS if key in site.GROUPS]
    overview = coverage.coverage(rows).to_dict("index")
    page("index", "index.md", overview=overview, papers=papers, rooms=list(api))
    another = [evidence.replace("_", " ") for evidence in OF_OTHERS]
    page("ledger", "ledger.md", cells=site.cells(rows, books), another=another)
    page("judges", "judges.md", cells=site.judged_cells(), another=another)
    for key in papers:
        page(f"papers/{key}", "paper.md", key=key, **site.paper(key, rows, books))
    page("benchmarks/index", "benchmarks.md", benchmarks=benchmarks)
    for benchmark in benchmarks:
        page(f"benchmarks/{benchmark['benchmark']}", "benchmark.md", **benchmark)
    for room, modules in api.items():
        page(f"api/{room}", "api.md", room=room, modules=modules)
    (folder / "notebooks").mkdir()
    for name, book in books.items():
        (folder / "notebooks" / f"{name}.ipynb").write_text(json.dumps(book["book"]), encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
