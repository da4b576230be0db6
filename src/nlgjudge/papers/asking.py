"""Published rows of a model: which tables have them, and how each is asked, by its paper's protocol."""

from typing import NamedTuple

import pandas as pd

from nlgjudge.data.benchmarks import load
from nlgjudge.data.choices import check_known, first, unknown
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.run import SAMPLING, judge_items, requests, sampling_settings
from nlgjudge.judging.served import FALLBACK, FALLBACK_SAMPLES
from nlgjudge.papers import modules
from nlgjudge.papers.coascore.aspects import stage
from nlgjudge.papers.coascore.chain import coascore
from nlgjudge.papers.protocol import Protocol, Scope

# Papers that publish correlations of models, by the name of their package.
PAPERS = {name: module for name, module in modules().items() if getattr(module, "SCOPES", ())}
CHAINS = ("chain", "chain of rated aspects", "mean of aspects")
OPTIONS = ("samples", *SAMPLING, "sampling", "pattern")


class Part(NamedTuple):
    """A published row on one dataset, in all tables that publish it there."""

    row: Protocol
    scope: Scope
    artefacts: tuple

    @property
    def key(self):
        """Label of the row, dataset and tables."""
        return self.row.row, self.scope.dataset, "|".join(self.artefacts)

    @property
    def aspects(self):
        """By aspect as published, the aspect that is asked for and the one that people rated."""
        return self.scope.aspects_of(self.row.row)


def tables_of(paper):
    """Tables of a paper that publish rows of a model.

    Parameters
    ----------
    paper : str

    Returns
    -------
    list of str

    Examples
    --------
    >>> tables_of("geval")
    ['table1', 'table2', 'table3']
    """
    names = {artefact for scope in PAPERS[paper].SCOPES for artefact in scope.artefacts}
    return sorted(names, key=lambda name: int(name.removeprefix("table")))


def parts_of(paper, artefacts):
    """The rows of a model in some tables, by dataset.

    Parameters
    ----------
    paper : str
    artefacts : str or list of str

    Returns
    -------
    list of Part

    Raises
    ------
    ValueError
        For an unknown paper, or a table without a row of a model.

    Examples
    --------
    >>> [part.key for part in parts_of("geval", "table2")]
    [('G-EVAL-3.5', 'topical_chat', 'table2'), ('G-EVAL-4', 'topical_chat', 'table2')]
    """
    check_known("paper", paper, PAPERS)
    wanted = [artefacts] if isinstance(artefacts, str) else list(artefacts)
    known = tables_of(paper)
    for artefact in wanted:
        if artefact not in known:
            raise ValueError(f"{paper}: {unknown('table', artefact, known)}")
    found = []
    for scope in PAPERS[paper].SCOPES:
        for row in PAPERS[paper].PROTOCOLS:
            tables = [name for name in wanted if name in scope.artefacts and name in row.artefacts]
            if tables:
                found.append(Part(row, scope, tuple(tables)))
    return found


def rows_of(paper, artefacts):
    """Labels of the rows of a model in some tables, in the paper's order."""
    return list(dict.fromkeys(part.row.row for part in parts_of(paper, artefacts)))


def versions(paper, artefacts):
    """Tables in all published versions of a paper, as pairs of paper key and table."""
    return [(version, artefact) for version in PAPERS[paper].VERSIONS for artefact in artefacts]


def sent(row, options, changes=()):
    """Samples and sampling parameters of a row's requests.

    Parameters
    ----------
    row : nlgjudge.papers.protocol.Protocol
    options : dict
        As for `rerun`.
    changes : dict, optional
        What a server was sent in place of what was asked, as a judge's `changes`.

    Returns
    -------
    (int, dict)

    Examples
    --------
    >>> from nlgjudge.papers import geval
    >>> from nlgjudge.papers.protocol import rows
    >>> row = rows(geval.protocols.PROTOCOLS, "table1")["G-EVAL-3.5"]
    >>> sent(row, {})
    (1, {'temperature': 0, 'logprobs': True})
    >>> sent(row, {"logprobs": False})
    (20, {'temperature': 1, 'top_p': 1})
    """
    samples, sampling = row.samples, dict(row.parameters)
    if options.get("logprobs") is False and row.estimate:
        samples, sampling = row.estimate[0], dict(row.estimate[1])
    sampling |= {name: options[name] for name in SAMPLING if name in options}
    sampling |= options.get("sampling", {})
    samples, sampling = options.get("samples", samples), sampling_settings(sampling=sampling)
    if "logprobs" in sampling and "logprobs" in changes:
        samples = max(samples, FALLBACK_SAMPLES)
        sampling |= FALLBACK
    left_out = {name for name in changes if changes[name] is None}
    if "max_completion_tokens" in changes:
        left_out.discard("max_tokens")  # it is sent under this name
    return samples, {name: value for name, value in sampling.items() if name not in left_out}


def row_prompt(row, scope, aspect):
    """The prompt by which a row asks for an aspect.

    Parameters
    ----------
    row : nlgjudge.papers.protocol.Protocol
    scope : nlgjudge.papers.protocol.Scope
    aspect : str
        As the scope asks for it.

    Returns
    -------
    nlgjudge.judging.prompts.Prompt

    Examples
    --------
    >>> from nlgjudge.papers import geval
    >>> from nlgjudge.papers.protocol import rows
    >>> row = rows(geval.protocols.PROTOCOLS, "table3")["G-EVAL-4"]
    >>> row_prompt(row, geval.protocols.SCOPES[-1], "consistency").name
    'geval/hallucination/consistency'
    """
    name = row.prompt.format(task=scope.task, aspect=aspect)
    if name.startswith("coascore/"):  # printed for one task, and put into the words of others
        return stage(name.split("/")[1], scope.task, aspect)
    return prompt(name)


def benchmarks_of(parts, source):
    """Load what parts read; the sample is never mixed with real data.

    Parameters
    ----------
    parts : iterable of Part
    source : {"auto", "real", "sample"}
        As for `nlgjudge.load`.

    Returns
    -------
    (dict of str to nlgjudge.data.schema.Benchmark, list of str)
        Benchmarks by name, and names of those that are left out.

    Raises
    ------
    nlgjudge.data.fetch.DataUnavailable
        With ``real``, if none of them is here.
    """
    names = dict.fromkeys(part.scope.benchmark for part in parts)
    found = {}
    for name in names:
        try:
            found[name] = load(name, source)
        except DataUnavailable as error:
            unavailable = error
    if not found:
        raise unavailable
    if all(one.is_sample for one in found.values()):
        return found, [name for name in names if name not in found]
    real = {name: one for name, one in found.items() if not one.is_sample}
    return real, [name for name in names if name not in real]


def items_of(part, benchmark, limit=0):
    """The items that a part asks about.

    Parameters
    ----------
    part : Part
    benchmark : nlgjudge.data.schema.Benchmark
    limit : int
        Documents; 0 is all.

    Returns
    -------
    pandas.DataFrame
    """
    items = benchmark.items
    return first(items[~items["system_id"].isin(part.scope.left_out)], limit)


def count(part, items, walk, options):
    """Count what `ask` would ask for.

    Parameters
    ----------
    part, items, options
        As for `ask`.
    walk : nlgjudge.judging.count.Count
    """
    if part.row.scoring in CHAINS:  # its later requests show earlier replies
        ask(part, items, walk, options)
        return
    samples, sampling = sent(part.row, options)
    prompts = [row_prompt(part.row, part.scope, asked) for asked, _ in part.aspects.values()]
    for tasks in requests(items, prompts, samples=samples, settings=sampling):
        walk.count(tasks)


def ask(part, items, judge, options):
    """Ask a judge for a published row on one dataset.

    Parameters
    ----------
    part : Part
    items : pandas.DataFrame
        From `items_of`.
    judge : object
        As from `nlgjudge.get_judge`.
    options : dict
        As for `nlgjudge.rerun`, without None.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect` (as published), `sample_index, text, score, reason`, and `judge` if it is a jury. A
        score is high where people's rating should be high.

    Raises
    ------
    ValueError
        For several samples of a chain, whose every step is one reply.
    """
    samples, sampling = sent(part.row, options)
    if len(judge.judges) > 1:
        return judge.each(lambda one: ask(part, items, one, options))
    if part.row.scoring in CHAINS:
        chains = [
            _chained(part, items, judge, asked, options).assign(aspect=printed)
            for printed, (asked, _) in part.aspects.items()
        ]
        responses = pd.concat(chains, ignore_index=True)
    else:
        prompts = {
            printed: row_prompt(part.row, part.scope, asked)
            for printed, (asked, _) in part.aspects.items()
        }
        if "pattern" in options:
            own = options["pattern"]
            prompts = {printed: one._replace(pattern=own) for printed, one in prompts.items()}
        # All prompts in one call, so that a batch of each is submitted before one is waited for.
        responses = judge_items(
            items, list(prompts.values()), judge, samples=samples, sampling=sampling
        )
        printed = {one.aspect: printed for printed, one in prompts.items()}
        responses["aspect"] = responses["aspect"].map(printed)
    if part.scope.reversed:
        (asked, _), *_ = part.aspects.values()
        low, high = row_prompt(part.row, part.scope, asked).scale or (0, 1)
        responses["score"] = low + high - responses["score"]
    return responses


def _chained(part, items, judge, aspect, options):
    """A chain of relevant aspects: one reply for each step."""
    row = part.row
    samples, sampling = sent(row, options)
    if samples != 1:
        raise ValueError(
            f"{row.row}: samples={samples}: each step of a chain is one reply; leave samples out"
        )
    found = coascore(
        items,
        judge,
        part.scope.task,
        aspect,
        n=row.aspects,
        aspects="inter" if row.scoring == "chain of rated aspects" else None,
        final="average" if row.scoring == "mean of aspects" else "judge",
        settings=sampling,
        pattern=options.get("pattern", ""),
    )
    return found.responses.drop(columns="used")
