"""What `crate` does: ledger, reruns, notebooks and signatures as an RO-Crate, with upstream's files named in it.

The crate follows RO-Crate 1.1 and its profile Process Run Crate: each notebook is a program, its last run an action
that read upstream's files and made figures, cells of the ledger and a signature. Upstream's files are described and not
contained: by repository, commit and path, and by the identifiers under which Software Heritage keeps them.
"""

import csv
import io
import json
import re
import shutil
import subprocess
import tempfile
import unicodedata
from collections import Counter
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from nlgjudge.data import fetch
from nlgjudge.data.citations import bibliography, cited_for
from nlgjudge.data.paths import root
from nlgjudge.data.registry import entries
from nlgjudge.ledger import signatures
from nlgjudge.ledger.printed import PAPERS
from nlgjudge.repo import citing, workflow

VERSION = "1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_STANDARD = f"RO-Crate {VERSION} and Process Run Crate {PROFILE.rpartition('/')[2]}"
ARCHIVE = "https://archive.softwareheritage.org"
METADATA = "ro-crate-metadata.json"
# What goes in, by folder and ending, and what it is.
_PARTS = (
    ("LICENSE", "the licence of what this repository's authors wrote"),
    ("README.md", "what this repository is and how to use it"),
    ("CITATION.cff", "how to cite it"),
    ("requirements.lock", "versions of the Python packages that a run uses"),
    (
        "data/registry.csv",
        "every upstream file: repository, commit, path, git blob id, licence, citation key",
    ),
    ("data/citations.bib", "the entries behind the citation keys"),
    ("data/README.md", "licences of the upstream files"),
    ("paper_tables/README.md", "how the ledger is read"),
    (
        "paper_tables/ledger.csv",
        "every printed cell beside ours, with verdict, evidence and the notebook that ran it",
    ),
    ("paper_tables/*.csv", "a table that the ledger's notebooks read"),
    ("paper_tables/published/*.csv", "a table as its paper prints it"),
    ("paper_tables/reruns/*.csv", "the printed cells that one judge's replies reach"),
    ("paper_tables/settings/*.csv", "printed settings beside ours"),
    ("paper_tables/third_party/*.csv", "printed cells as others recomputed and published them"),
    ("figures/*.png", "a figure of a run"),
    ("figures/*.svg", "a figure of a run"),
    ("notebooks/*.yaml", "a grid of a notebook's parameters"),
)
_FORMATS = {
    ".bib": "application/x-bibtex",
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".md": "text/markdown",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".yaml": "application/yaml",
}
_SPDX = ("Apache-2.0", "CC-BY-4.0", "MIT")


def pack(output=None):
    """Write the crate and say what is in it.

    Parameters
    ----------
    output : pathlib.Path, optional
        Its folder, `build/crate` by default; one that holds a crate is replaced.

    Raises
    ------
    ModuleNotFoundError
        Where the package `rocrate` is not installed.
    FileExistsError
        Where the folder holds something else.
    ValueError
        Where the validator is installed and finds that the crate is not valid; the message says why.
    """
    folder = output or root() / "build" / "crate"
    crate = make()
    _clear(folder)
    crate.write(folder)
    _say_what_is_in_it(folder)
    if not find_spec("rocrate_validator"):
        print(
            "not validated: the package roc-validator is not installed (`make crate` installs it)"
        )
        return
    found = problems(folder)
    if found:
        raise ValueError(f"{folder} is no valid {_STANDARD}: {'; '.join(found)}")
    print(f"valid as {_STANDARD} (roc-validator {version('roc-validator')})")


def _say_what_is_in_it(folder):
    graph = json.loads((folder / METADATA).read_text(encoding="utf-8"))["@graph"]
    kinds = Counter(kind for entity in graph for kind in _listed(entity["@type"]))
    registered = entries()
    commits = {(entry.repository, entry.commit) for entry in registered}
    print(
        f"{folder}: {kinds['File']} files, {kinds['CreateAction']} runs of notebooks; {len(registered)} upstream "
        f"files named at {len(commits)} commits (upstream_commits.csv)"
    )


def problems(folder):
    """Ask the validator what of a crate breaks the standard.

    The JSON-LD context that the validator wants from the network is the one that `rocrate` brings along: what is used
    here means the same in every version of it.

    Parameters
    ----------
    folder : path-like

    Returns
    -------
    list of str
        Empty for a valid crate.
    """
    from rocrate_validator import services
    from rocrate_validator.models import Severity

    with tempfile.TemporaryDirectory() as home:
        cache = str(Path(home) / "http")
        _put_context(cache)
        settings = services.ValidationSettings(
            rocrate_uri=str(folder),
            profile_identifier=f"process-run-crate-{PROFILE.rpartition('/')[2]}",
            requirement_severity=Severity.REQUIRED,
            offline=True,
            cache_path=cache,
        )
        issues = services.validate(settings).get_issues()
    return list(dict.fromkeys(f"{issue.check.identifier}: {issue.message}" for issue in issues))


def _put_context(cache):
    """Store the context in the cache from which the validator takes what is on the network."""
    from requests_cache import CachedRequest, CachedResponse, CachedSession

    address = f"https://w3id.org/ro/crate/{VERSION}/context"
    answer = CachedResponse(
        url=address,
        status_code=200,
        request=CachedRequest(method="GET", url=address),
        content=(files("rocrate") / "data" / "ro-crate.jsonld").read_bytes(),
        headers={"Content-Type": "application/ld+json"},
    )
    with CachedSession(cache, backend="sqlite", expire_after=-1) as session:
        session.cache.save_response(answer)


def _clear(folder):
    """Remove an earlier crate, and nothing else."""
    if not folder.exists():
        return
    if any(folder.iterdir()) and not (folder / METADATA).is_file():
        raise FileExistsError(
            f"{folder}: expected no such folder, an empty one or an earlier crate, got other files; "
            "name another with -o"
        )
    shutil.rmtree(folder)


def make():
    """Describe what is committed here.

    Returns
    -------
    rocrate.rocrate.ROCrate
        Its method `write` takes a folder. The same checkout gives the same crate.

    Raises
    ------
    ModuleNotFoundError
        As for `pack`.
    """
    if not find_spec("rocrate"):
        raise ModuleNotFoundError(
            "the package rocrate is not installed: .venv/bin/pip install --editable '.[crate]', "
            "or `make crate`, which installs it"
        )
    return _Making().crate


def swhid(entry):
    """Software Heritage's identifier of a registered file, with where it was found.

    Parameters
    ----------
    entry : nlgjudge.data.registry.Entry

    Returns
    -------
    str

    Examples
    --------
    >>> swhid(entries("openmeva")[0]).split(";")[1:]  # doctest: +NORMALIZE_WHITESPACE
    ['origin=https://github.com/krystalan/chatgpt_as_nlg_evaluator',
     'anchor=swh:1:rev:982e7867eb27d0971b4cf8f7cb50f7cda5c5bdf1', 'path=/data/openmeva.json']
    """
    path = quote(f"/{entry.path}", safe="/")
    return f"swh:1:cnt:{entry.blob};origin={_origin(entry)};anchor={_revision(entry)};path={path}"


def _origin(entry):
    return f"https://github.com/{entry.repository}"


def _revision(entry):
    return f"swh:1:rev:{entry.commit}"


def _address(entry):
    return f"{fetch.UPSTREAM}/{quote(str(entry.location), safe='/')}"


class _Making:
    """A crate while it is made: everything is added once and referred to by its id."""

    def __init__(self):
        import yaml
        from rocrate.rocrate import ROCrate

        self.crate = ROCrate(version=VERSION)
        self.about = yaml.safe_load((root() / "CITATION.cff").read_text(encoding="utf-8"))
        self.released = str(self.about["date-released"])
        self.committed = _committed()
        self.books = {
            name: citing.read(root() / "notebooks" / f"{name}.ipynb")
            for name in workflow.notebooks()
            if f"notebooks/{name}.ipynb" in self.committed
        }
        self.cells = _cells(self.committed)
        self.entities = {}
        self._describe_root()
        self._add_files()
        self._add_upstream()
        for name, book in self.books.items():
            self._add_notebook(name, book)
        for name, book in self.books.items():
            self._add_run(name, book)

    def _entity(self, address, kind, /, **properties):
        """Add what is described and not contained, once; gives the reference to it."""
        from rocrate.model.contextentity import ContextEntity

        if address not in self.entities:
            self.entities[address] = {"@id": address}
            given = {name: _alone(value) for name, value in properties.items() if value != []}
            self.crate.add(ContextEntity(self.crate, address, properties={"@type": kind, **given}))
        return self.entities[address]

    def _file(self, path, description, source=None, **properties):
        """Add a file of the checkout, or one that is written here; gives the reference to it."""
        if path not in self.entities:
            self.entities[path] = {"@id": path}
            form = _FORMATS.get(PurePosixPath(path).suffix, "text/plain")
            given = {name: _alone(value) for name, value in properties.items() if value != []}
            self.crate.add_file(
                io.StringIO(source) if source is not None else root() / path,
                path,
                record_size=True,
                properties={
                    "name": path,
                    "description": description,
                    "encodingFormat": form,
                    **given,
                },
            )
        return self.entities[path]

    def _describe_root(self):
        dataset = self.crate.root_dataset
        self.authors = [self._author(author) for author in self.about["authors"]]
        self.licence = self._licence(self.about["license"])
        dataset["name"] = self.about["title"]
        dataset["description"] = (
            "Every cell that the papers' tables print beside what was recomputed for it, the notebooks that recomputed "
            "it, with outputs and signatures, and what other judges reach. The upstream files behind it are named by "
            "repository, commit, path and Software Heritage's identifier, and not contained."
        )
        dataset["license"] = self.licence
        dataset["author"] = _alone(self.authors)
        dataset["publisher"] = self.authors[0]
        dataset["datePublished"] = self.released
        dataset["version"] = self.about["version"]
        dataset["keywords"] = ", ".join(self.about["keywords"])
        dataset["conformsTo"] = self._entity(
            PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"
        )
        dataset["citation"] = [
            self._article(key) for paper in PAPERS for key in cited_for("paper", paper)
        ]

    def _author(self, author):
        if "family-names" not in author:
            return self._entity(f"#{_slug(author['name'])}", "Organization", name=author["name"])
        name = f"{author.get('given-names', '')} {author['family-names']}".strip()
        return self._entity(author.get("orcid", f"#{_slug(name)}"), "Person", name=name)

    def _licence(self, name):
        """A known licence as an entity; any other in upstream's words."""
        if name not in _SPDX:
            return f"{name} (upstream)"
        return self._entity(
            f"https://spdx.org/licenses/{name}",
            "CreativeWork",
            name=name,
            description=f"The licence {name}, as the SPDX list has it.",
        )

    def _article(self, key):
        """A publication, as the bibliography has it."""
        entry = bibliography().get(key)
        if not entry:
            return self._entity(f"#{key}", "CreativeWork", name=key)
        fields = {name: _plain(value) for name, value in entry.fields.items()}
        address = fields.get("url") or f"#{key}"
        if "doi" in fields:
            address = f"https://doi.org/{fields['doi']}"
        elif "eprint" in fields:
            address = f"https://arxiv.org/abs/{fields['eprint']}"
        kind = "WebPage" if "url" in fields and entry.kind == "misc" else "ScholarlyArticle"
        venue = fields.get("journal") or fields.get("booktitle")
        more = (
            {"isPartOf": self._entity(f"#{_slug(venue)}", "CreativeWork", name=venue)}
            if venue
            else {}
        )
        return self._entity(
            address,
            kind,
            name=fields["title"],
            author=_names(fields["author"]),
            datePublished=fields["year"],
            identifier=key,
            **more,
        )

    def _add_files(self):
        for pattern, description in _PARTS:
            for path in sorted(self.committed):
                if PurePosixPath(path).match(pattern) and path.count("/") == pattern.count("/"):
                    self._file(path, description)

    def _add_upstream(self):
        """Name every registered file and every commit that one is of."""
        commits = Counter()
        for entry in entries():
            tree = self._entity(
                f"{_origin(entry)}/tree/{entry.commit}",
                "SoftwareSourceCode",
                name=f"{entry.repository} at {entry.commit[:12]}",
                codeRepository=_origin(entry),
                url=f"{_origin(entry)}/tree/{entry.commit}",
                version=entry.commit,
                identifier=_revision(entry),
            )
            more = {"contentSize": str(entry.bytes)} if entry.bytes else {}
            self._entity(
                _address(entry),
                "CreativeWork",
                name=f"{entry.repository}: {entry.path}",
                url=_address(entry),
                identifier=[f"swh:1:cnt:{entry.blob}", swhid(entry)],
                version=entry.commit,
                isPartOf=tree,
                license=self._licence(entry.licence),
                citation=self._article(entry.citation),
                keywords=f"{entry.benchmark}, {entry.role}",
                **more,
            )
            commits[
                _origin(entry), entry.commit, _revision(entry), entry.licence, entry.citation
            ] += 1
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(
            ["origin", "commit", "swhid", "licence", "citation", "files", "address_in_the_archive"]
        )
        for commit, number in sorted(commits.items()):
            writer.writerow([*commit, number, f"{ARCHIVE}/{commit[2]};origin={commit[0]}"])
        self._file(
            "upstream_commits.csv",
            "upstream's commits, so that an archive can be asked for them; whether it "
            "has them was not checked",
            lines.getvalue(),
        )

    def _add_notebook(self, name, book):
        prose = [
            "".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "markdown"
        ]
        title = prose[0].splitlines()[0].lstrip("# ").replace("`", "") if prose else name
        language = self._entity(
            "https://jupyter.org/",
            "ComputerLanguage",
            name="Jupyter Notebook",
            identifier="https://jupyter.org/",
            url="https://jupyter.org/",
        )
        citation = [self._article(key) for key in citing.keys(name, book)]
        self._file(
            f"notebooks/{name}.ipynb",
            f"{title}: the notebook with the outputs of its last run",
            **{"@type": ["File", "SoftwareSourceCode"]},
            programmingLanguage=language,
            license=self.licence,
            version=self.about["version"],
            softwareRequirements={"@id": "requirements.lock"},
            citation=citation,
        )

    def _add_run(self, name, book):
        signature = signatures.recorded(book)
        if not signature:  # it was never run
            return
        action = f"#run-of-{name}"
        text = json.dumps(signature, indent=1, ensure_ascii=False) + "\n"
        results = [
            self._file(
                f"signatures/{name}.json",
                "the signature of a notebook's last run: its data with "
                "digests, its settings, versions, and what to cite",
                text,
                about={"@id": action},
            )
        ]
        results += [
            self.entities[path]
            for path in (
                f"figures/{name}.png",
                f"figures/{name}.svg",
                f"paper_tables/settings/{name}.csv",
            )
            if path in self.entities
        ]
        cells, tables = self._written(name)
        results += [self.entities[path] for path in cells]
        count = cells.total()
        self._entity(
            action,
            "CreateAction",
            name=f"The last run of {name}",
            description=f"A run of the notebook with its own parameters; {count} cells of committed tables are its."
            if count
            else "A run of the notebook with its own parameters; it writes no cell of a committed table.",
            instrument=self.entities[f"notebooks/{name}.ipynb"],
            agent=self.authors[0],
            object=[*self._read_by(book, signature), *tables],
            result=results,
            actionStatus="http://schema.org/CompletedActionStatus",
        )
        self.crate.root_dataset.append_to("mentions", self.crate.get(action))

    def _read_by(self, book, signature):
        """References to the upstream files that a run had, each once."""
        without = {path for data in signature["data"].values() for path in data.get("without", ())}
        files = [
            entry
            for need in citing.had(book)
            for entry in workflow.files_of(need)
            if entry.path not in without
        ]
        return [
            self.entities[address] for address in dict.fromkeys(_address(entry) for entry in files)
        ]

    def _written(self, name):
        """Committed tables with cells of a notebook and how many, and references to the printed tables behind them."""
        cells = Counter(table for table, row in self.cells if row["notebook"] == name)
        printed = [
            f"paper_tables/published/{row['paper']}_{row['artefact']}.csv"
            for _, row in self.cells
            if row["notebook"] == name
        ]
        return cells, [
            self.entities[path] for path in dict.fromkeys(printed) if path in self.entities
        ]


def _committed():
    """Paths of the files that are committed; of all that are here where there is no git."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=root(), capture_output=True, text=True, check=True
        )
        found = listed.stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        folders = (
            "",
            "data",
            "figures",
            "notebooks",
            "paper_tables",
            "paper_tables/published",
            "paper_tables/reruns",
            "paper_tables/settings",
            "paper_tables/third_party",
        )
        found = [
            path.relative_to(root()).as_posix()
            for folder in folders
            for path in (root() / folder).glob("*")
        ]
    return {path for path in found if path and (root() / path).is_file()}


def _cells(paths):
    """Each row of the ledger and of the reruns, with the table's path."""
    found = []
    for path in sorted(paths):
        if path == "paper_tables/ledger.csv" or PurePosixPath(path).match(
            "paper_tables/reruns/*.csv"
        ):
            with open(root() / path, newline="", encoding="utf-8") as handle:
                found += [(path, row) for row in csv.DictReader(handle)]
    return found


def _slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _plain(value):
    """A BibTeX value as plain text: accents as letters, no braces."""
    marks = {"'": "\u0301", '"': "\u0308", "v": "\u030c", "c": "\u0327", "`": "\u0300"}

    def letter(found):
        # A letter i without its dot takes the mark where the dot was.
        return unicodedata.normalize("NFC", found[2] + marks[found[1]])

    text = re.sub(r"\\(['\"vc`])\{?(\w)\}?", letter, value)
    return text.replace("{", "").replace("}", "")


def _alone(value):
    """One value in place of a list of one, as the standard recommends."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _names(value):
    """Authors of a BibTeX entry in one text."""
    return value.replace(" and others", " et al.").replace(" and ", "; ")


def _listed(value):
    return value if isinstance(value, list) else [value]
