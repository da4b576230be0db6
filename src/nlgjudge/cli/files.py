"""Commands on files and replies: data, prompts, replies, ledger."""

from collections import Counter
from pathlib import Path

import click

from nlgjudge import workflow
from nlgjudge.cli import FAILED, cli, command, echo
from nlgjudge.data import fetch as files
from nlgjudge.data.benchmarks import descriptions
from nlgjudge.data.paths import cache
from nlgjudge.data.registry import entries
from nlgjudge.judging import prompts as library
from nlgjudge.judging.store import Store

FILE = click.Path(dir_okay=False, path_type=Path)
BENCHMARKS = click.argument("benchmarks", nargs=-1)
STORE = click.option(
    "--store", type=FILE, help="Where replies are stored.  [default: data/cache/replies.sqlite]"
)


@cli.group()
def data():
    """Upstream files: list, fetch, verify."""


@command(data, "list", "nlgjudge data list summeval openmeva")
@BENCHMARKS
def list_data(benchmarks):
    """List the files by benchmark: how many are here, licence and citation."""
    registered = Counter()
    here = Counter()
    for entry in entries_of(benchmarks):
        kind = (*entry[:3], entry.licence, entry.citation)
        registered[kind] += 1
        here[kind] += files.local(entry) is not None
    echo(f"{'benchmark':19}{'role':12}{'here':>9}  licence             citation")
    for kind, number in sorted(registered.items()):
        benchmark, role, repository, licence, citation = kind
        share = f"{here[kind]}/{number}"
        echo(f"{benchmark:19}{role:12}{share:>9}  {licence:18}  {citation} ({repository})")
    echo("\n`nlgjudge.load` takes:")
    for name, line in descriptions().items():
        echo(f"{name:19} {line}")


@command(data, "fetch", "nlgjudge data fetch openmeva")
@BENCHMARKS
@click.option(
    "--declared",
    is_flag=True,
    help="What the notebooks declare; without a network, the sample replaces it.",
)
@click.option(
    "--optional",
    is_flag=True,
    help="The files that the committed outputs were made without, in place of the others.",
)
def fetch_data(benchmarks, declared, optional):
    """Download what is neither cached nor mirrored, and name what to cite."""
    if declared:
        workflow.fetch_declared(echo)
        return 0
    registered = entries_of(benchmarks)
    wanted = [entry for entry in registered if entry.optional == optional]
    left_out = len(registered) - len(wanted)
    if left_out and not optional:
        echo(f"{left_out} more files are optional: `data fetch --optional`")
    terms = {(entry.licence, entry.citation, entry.repository) for entry in wanted}
    for licence, citation, repository in sorted(terms):
        echo(f"{repository}: licence {licence}; cite {citation} (data/README.md)")
    errors = [error for error in files.read_all(wanted).values() if error]
    for error in errors:
        echo(str(error).rsplit("\n", 1)[0], err=True)
    echo(f"{len(wanted) - len(errors)} of {len(wanted)} files are here")
    return FAILED if errors else 0


@command(data, "verify", "nlgjudge data verify summeval")
@BENCHMARKS
def verify_data(benchmarks):
    """Check the files that are here against their git blob ids."""
    registered = entries_of(benchmarks)
    paths = {entry: path for entry in registered if (path := files.local(entry))}
    bad = 0
    for entry, path in paths.items():
        if problem := files.check(entry, path.read_bytes()):
            bad += 1
            echo(f"{path} {problem}", err=True)
    absent = len(registered) - len(paths)
    echo(f"{len(paths) - bad} files verified, {bad} bad, {absent} not here")
    return FAILED if bad or not paths else 0


def entries_of(benchmarks):
    """Registered files of some benchmarks, or of all."""
    return [entry for name in dict.fromkeys(benchmarks or [None]) for entry in entries(name)]


@cli.group()
def prompts():
    """Prompts: list them, or show one."""


@command(prompts, "list", "nlgjudge prompts list")
def list_prompts():
    """List the names of all prompts."""
    echo("\n".join(library.names()))


@command(prompts, "show", "nlgjudge prompts show geval/summarization/coherence")
@click.argument("name")
def show_prompt(name):
    """Show a prompt's source and text."""
    prompt = library.prompt(name)
    words = "the paper's words" if prompt.exact else "own words, in the paper's form"
    echo(
        f"# {prompt.name}, {words}\n# {prompt.source}\n# aspect {prompt.aspect or 'any'}, scale "
        f"{list(prompt.scale)}, reply form {prompt.form}, digest {prompt.digest}\n\n{prompt.body}"
    )


@cli.group()
def replies():
    """The store of replies: export, import."""


def open_store(path):
    """The store that a command names, or the usual one."""
    return Store(path or cache() / "replies.sqlite")


@command(replies, "export", "nlgjudge replies export replies.jsonl.gz")
@click.argument("file", type=FILE)
@STORE
def export_replies(file, store):
    """Write all replies as JSON Lines."""
    with open_store(store) as opened:
        opened.export(file)
        echo(f"{opened.totals()['replies']} replies in {file}")


@command(replies, "import", "nlgjudge replies import replies.jsonl.gz")
@click.argument("file", type=FILE)
@STORE
def import_replies(file, store):
    """Add the replies of an exported file."""
    with open_store(store) as opened:
        opened.load(file)
        echo(f"{opened.totals()['replies']} replies in {opened.path}")


@command(cli, "ledger", "nlgjudge ledger")
@click.option("--refresh", is_flag=True, help="Copy the run's results into the repository instead.")
def ledger(refresh):
    """Merge the last run's results, and report cells that differ from the committed ledger."""
    if refresh:
        workflow.refresh(echo)
    else:
        workflow.build_ledger(echo)
