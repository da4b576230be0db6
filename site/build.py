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
from nlgjudge.ledger import figures, ledger, overview
from nlgjudge.ledger.counts import PUBLISHED, counts
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.ledger.verdicts import OF_OTHERS
from nlgjudge.repo import site


def plain(text):
    """Text that Markdown shows as it is, each line a line."""
    return re.sub(r"([\\`*_{}\[\]<>$|#~])", r"\\\1", text).replace("\n", "\\\n")


def write(folder):
    """Write the sources; the folder is emptied first."""
    here, folder = root() / "site", Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        here, folder, ignore=shutil.ignore_patterns("*.py[c]", "templates", "build.py", "*.csv")
    )
    shutil.copy(root() / "paper_tables" / "ledger.csv", folder)
    rows, books = ledger.read(root() / "paper_tables" / "ledger.csv"), site.notebooks()
    figures.save(overview.summary(rows, title="All papers together"), "all_papers", folder=folder)
    shared = {
        "books": books,
        "groups": site.GROUPS,
        "names": PAPERS,
        "counts": PUBLISHED,
        "notice": SAMPLE_NOTICE,
    }
    jinja = Environment(
        loader=FileSystemLoader(here / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.filters["plain"] = plain

    def page(name, template, **values):
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(jinja.get_template(template).render(**shared, **values), encoding="utf-8")

    benchmarks, api = site.benchmarks(rows, books), site.api()
    papers = [key for key in PAPERS if key in site.GROUPS]
    others = [key for key in site.GROUPS if key and key not in papers]
    places = site.publications()
    page(
        "index",
        "index.md",
        lines=site.at_a_glance(rows, books),
        total=counts(rows).sum(),
        papers=papers,
        others=others,
        rooms=list(api),
        repository=site.repository(),
    )
    another = [evidence.replace("_", " ") for evidence in OF_OTHERS]
    page("ledger", "ledger.md", cells=site.cells(rows, books), another=another)
    page("judges", "judges.md", cells=site.judged_cells(), another=another)
    page("reproducibility", "reproducibility.md", records=site.reproducibility_records())
    extra = (
        folder / "extra" / "reproducibility"
    )  # copied to the site as it is, so that its addresses stay
    shutil.copytree(root() / "paper_tables" / "reproducibility", extra)
    for badge in (root() / "figures").glob("badge_*.svg"):
        shutil.copy(badge, extra)
    whole, *commands = site.command_line().items()
    page("guide/command_line", "command_line.md", whole=whole[1], commands=commands)
    for key in papers:
        printed = [
            (PAPERS[version], place)
            for version in PAPERS
            if version.removesuffix("_v1") == key
            for place in places.get(version, [])
        ]
        page(f"papers/{key}", "paper.md", key=key, printed=printed, **site.paper(key, rows, books))
    for key in others:
        page(key, "group.md", key=key)
    page("benchmarks/index", "benchmarks.md", benchmarks=benchmarks)
    for benchmark in benchmarks:
        page(f"benchmarks/{benchmark['benchmark']}", "benchmark.md", **benchmark)
    for room, modules in api.items():
        page(f"api/{room}", "api.md", room=room, modules=modules)
    (folder / "notebooks").mkdir()
    for name, book in books.items():
        (folder / "notebooks" / f"{name}.ipynb").write_text(
            json.dumps(book["book"]), encoding="utf-8"
        )


if __name__ == "__main__":
    write(sys.argv[1])
