"""What the commands on upstream files do: `data list`, `data fetch`, `data verify`; and `ledger`."""

import sys
from collections import Counter

from nlgjudge import workflow
from nlgjudge.data import fetch as files
from nlgjudge.data.registry import entries
from nlgjudge.repo import exits


def show(benchmarks):
    """Print a line for each kind of file: how many there are, how many are here, licence and citation.

    Parameters
    ----------
    benchmarks : list of str
        Empty for all; so in the other functions.
    """
    registered = Counter()
    here = Counter()
    for entry in _chosen(benchmarks):
        kind = (*entry[:3], entry.licence, entry.citation)
        registered[kind] += 1
        here[kind] += files.local(entry) is not None
    print(f"{'benchmark':19}{'role':12}{'here':>9}  licence             citation")
    for kind in sorted(registered):
        benchmark, role, repository, licence, citation = kind
        share = f"{here[kind]}/{registered[kind]}"
        files_here = f"{benchmark:19}{role:12}{share:>9}"
        print(f"{files_here}  {licence:18}  {citation} ({repository})")
    print(
        "\nstory_cloze and iwslt14 have no registered file: name yours in NLGJUDGE_STORY_CLOZE and "
        "NLGJUDGE_HUMANMT."
    )


def fetch(benchmarks, declared=False):
    """Download what is neither cached nor mirrored, and say whom to cite.

    Parameters
    ----------
    benchmarks : list of str
        Empty for all.
    declared : bool
        Fetch what the notebooks declare, and report what each of their needs resolves to.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`: failed where a file could not be had.
    """
    if declared:
        workflow.fetch_declared()
        return exits.DONE
    chosen = _chosen(benchmarks)
    terms = {(entry.licence, entry.citation, entry.repository) for entry in chosen}
    for licence, citation, repository in sorted(terms):
        print(f"{repository}: licence {licence}; cite {citation} (data/README.md)")
    missing = [error for error in files.read_all(chosen).values() if error]
    for error in missing:
        print(str(error).rsplit("\n", 1)[0], file=sys.stderr)
    print(f"{len(chosen) - len(missing)} of {len(chosen)} files are here")
    return exits.FAILED if missing else exits.DONE


def verify(benchmarks):
    """Check the files that are here against their blob ids.

    Returns
    -------
    int
        One of `nlgjudge.repo.exits`: failed where a file is another, or none is here.
    """
    chosen = _chosen(benchmarks)
    checked = 0
    bad = 0
    for entry in chosen:
        path = files.local(entry)
        if not path:
            continue
        checked += 1
        problem = files.check(entry, path.read_bytes())
        if problem:
            bad += 1
            print(path, problem, file=sys.stderr)
    print(f"{checked - bad} files verified, {bad} bad, {len(chosen) - checked} not here")
    return exits.FAILED if bad or not checked else exits.DONE


def ledger(refresh):
    """Merge the last run's results and compare them with the committed ledger, or copy them.

    Parameters
    ----------
    refresh : bool
        Copy them into the repository.
    """
    if refresh:
        workflow.refresh()
    else:
        workflow.build_ledger()


def _chosen(benchmarks):
    if not benchmarks:
        return entries()
    return [entry for name in dict.fromkeys(benchmarks) for entry in entries(name)]
