"""Ask a judge for a printed row: its paper's prompt, samples and sampling parameters, its way to a score."""

import pandas as pd

from nlgjudge.judging.prompts import prompt
from nlgjudge.judging.run import get_judge, judge_items, requests, sampling_settings
from nlgjudge.papers.coascore.aspects import stage
from nlgjudge.papers.coascore.chain import coascore

# Prompts whose words a paper prints for one task, and which are put into the words of others.
_STAGES = "coascore"


def ask(row, scope, items, judge, *, samples=None, temperature=None, logprobs=None):
    """Ask a judge for a printed row on one dataset.

    Parameters
    ----------
    row : nlgjudge.papers.protocol.Protocol
    scope : nlgjudge.papers.protocol.Scope
    items : pandas.DataFrame
        `item_id, system_id, source, hypothesis, references, context`; those of the scope's `left_out` systems are
        not asked about.
    judge : str or object
        As for `nlgjudge.judging.run.judge_items`.
    samples, temperature, logprobs : optional
        In the place of the protocol's. With `logprobs=False` a row that weighs ratings by their probability
        estimates it from samples, as the paper does for a model that gives none.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect` (as printed), `sample_index, text, score, reason`. A score is high where people's rating
        should be high.

    Raises
    ------
    ValueError
        For several samples of a chain, whose every step is one reply.
    """
    judge = get_judge(judge) if isinstance(judge, str) else judge
    items = kept(items, scope)
    aspects = scope.aspects_of(row.row)
    wanted, sampling = request(row, samples=samples, temperature=temperature, logprobs=logprobs)
    parts = []
    if row.scoring in CHAINS:
        for printed, (asked, _) in aspects.items():
            found = _chained(row, scope, items, judge, asked, wanted, sampling)
            parts.append(found.assign(aspect=printed))
    else:
        prompts = _prompts(row, scope)
        by_asked = {one.aspect: printed for printed, one in prompts.items()}
        found = judge_items(items, list(prompts.values()), judge, samples=wanted, sampling=sampling)
        parts.append(found.assign(aspect=found["aspect"].map(by_asked)))
    responses = pd.concat(parts, ignore_index=True)
    if scope.reversed:
        responses["score"] = _highest(row, scope) - responses["score"]
    return responses


def count(row, scope, items, dry_run, *, samples=None, temperature=None, logprobs=None):
    """Count what `ask` would ask for.

    Parameters
    ----------
    row, scope, items, samples, temperature, logprobs
        As for `ask`.
    dry_run : nlgjudge.judging.dry_run.DryRun
    """
    if row.scoring in CHAINS:  # its later requests show earlier replies
        ask(row, scope, items, dry_run, samples=samples, temperature=temperature, logprobs=logprobs)
        return
    wanted, sampling = request(row, samples=samples, temperature=temperature, logprobs=logprobs)
    prompts = list(_prompts(row, scope).values())
    for tasks in requests(
        kept(items, scope), prompts, samples=wanted, settings=sampling_settings(sampling=sampling)
    ):
        dry_run.count(tasks)


def kept(items, scope):
    """Items that a scope asks about.

    Parameters
    ----------
    items : pandas.DataFrame
        With a column `system_id`.
    scope : nlgjudge.papers.protocol.Scope

    Returns
    -------
    pandas.DataFrame
    """
    return items[~items["system_id"].isin(scope.left_out)]


def request(row, *, samples=None, temperature=None, logprobs=None):
    """Samples and sampling parameters of a row's requests.

    Parameters
    ----------
    row : nlgjudge.papers.protocol.Protocol
    samples, temperature, logprobs : optional
        As for `ask`.

    Returns
    -------
    samples : int
    sampling : dict

    Examples
    --------
    >>> from nlgjudge.papers import geval
    >>> from nlgjudge.papers.protocol import rows
    >>> row = rows(geval.PROTOCOLS, "table1")["G-EVAL-3.5"]
    >>> request(row)
    (1, {'temperature': 0, 'logprobs': True})
    >>> request(row, logprobs=False)
    (20, {'temperature': 1, 'top_p': 1})
    """
    wanted, sampling = row.samples, dict(row.parameters)
    if logprobs is False and row.estimate:
        wanted, sampling = row.estimate[0], dict(row.estimate[1])
    elif logprobs is not None:
        sampling.pop("logprobs", None)
        if logprobs:
            sampling["logprobs"] = True
    if temperature is not None:
        sampling["temperature"] = temperature
    return samples or wanted, sampling


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
    >>> row_prompt(rows(geval.PROTOCOLS, "table3")["G-EVAL-4"], geval.SCOPES[-1], "consistency").name
    'geval/hallucination/consistency'
    """
    name = row.prompt.format(task=scope.task, aspect=aspect)
    paper, _, rest = name.partition("/")
    if paper == _STAGES:
        return stage(rest.partition("/")[0], scope.task, aspect)
    return prompt(name)


def _prompts(row, scope):
    """A row's prompts, by the printed names of the aspects."""
    return {
        printed: row_prompt(row, scope, asked)
        for printed, (asked, _) in scope.aspects_of(row.row).items()
    }


def _chained(row, scope, items, judge, aspect, samples, sampling):
    """A chain of relevant aspects: one reply for each step."""
    if samples != 1:
        raise ValueError(
            f"{row.row}: samples={samples}: each step of a chain is one reply; leave samples out"
        )
    final = "average" if row.scoring == "mean of aspects" else "judge"
    aspects = "inter" if row.scoring == "chain of rated aspects" else None
    found = coascore(
        items,
        judge,
        scope.task,
        aspect,
        n=row.aspects,
        aspects=aspects,
        final=final,
        settings=sampling,
    )
    return found.responses.drop(columns="used")


CHAINS = ("chain", "chain of rated aspects", "mean of aspects")


def _highest(row, scope):
    """What is taken from, so that the opposite's highest score is the lowest."""
    (asked, _), *_ = scope.aspects.values()
    low, high = row_prompt(row, scope, asked).scale or (0, 1)
    return low + high
