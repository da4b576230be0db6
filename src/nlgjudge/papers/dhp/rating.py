"""Judges in the place of DHP's twelve: what they are asked, what that takes, and how they rate (appendix D).

Figures 2 and 4 have a bar for each model of Table 3, all asked alike. Several judges, each named for a printed row
or for itself, are rated side by side here; one that was asked before is answered from its store.
"""

import pandas as pd

from nlgjudge.data.choices import unknown
from nlgjudge.judging.dry_run import COUNTS, DryRun
from nlgjudge.judging.errors import AllWaiting, Waiting
from nlgjudge.judging.run import get_judge, judge_items
from nlgjudge.judging.scoring import item_scores
from nlgjudge.judging.surface import Surface
from nlgjudge.judging.tasks import Tasks
from nlgjudge.papers.dhp.protocols import MODELS, SAMPLES, SAMPLING

_KEYS = ["item_id", "original", "perturbation", "level"]


def judges_of_rows(judge, *, price=None, max_cost=None, **options):
    """The judges that are to be asked, by the label of their bars.

    Parameters
    ----------
    judge : str, object, list of these, or dict
        As for `nlgjudge.judge_items`; a dict names the judge that takes the place of a printed row. Empty for none.
    price : (float, float), optional
        Of a million prompt and a million completion tokens.
    max_cost : float, optional
        What each judge may spend, in the price's currency.
    **options
        For `nlgjudge.get_judge`.

    Returns
    -------
    dict of str to object
        A judge that is named twice is made once, so that its limits hold for both.

    Raises
    ------
    ValueError
        For a row that the figures do not print.

    Examples
    --------
    >>> list(judges_of_rows({"GPT4-Turbo": "surface"}))
    ['GPT4-Turbo: surface']
    >>> list(judges_of_rows(["surface"]))
    ['surface']
    """
    if isinstance(judge, dict):
        named = list(judge.items())
    else:
        several = judge if isinstance(judge, (list, tuple)) else [judge]
        named = [("", one) for one in several]
    for row, _ in named:
        if row and row not in MODELS:
            raise ValueError(
                f"dhp: {unknown('printed row of a model', row, MODELS, most=len(MODELS))}"
            )
    given = {"price": price, "max_cost": max_cost} | options
    given = {name: value for name, value in given.items() if value is not None}
    made = {}
    found = {}
    for row, one in named:
        if not one:
            continue
        if isinstance(one, str):
            if one not in made:
                made[one] = get_judge(one, **given)
            one = made[one]
        name = getattr(one, "name", type(one).__name__)
        found[f"{row}: {name}" if row else name] = one
    return found


def rate(versions, prompts, judges, *, samples=None, temperature=None):
    """Let judges rate originals and damaged texts.

    Parameters
    ----------
    versions : dict of str to pandas.DataFrame
        By dataset, items with `original, perturbation, level`, as from `nlgjudge.dhp.perturb`.
    prompts : dict of str to list of nlgjudge.judging.prompts.Prompt
        By dataset, one for each metric.
    judges : dict of str to object
        From `judges_of_rows`.
    samples, temperature : optional
        In the place of the protocol's five replies at temperature 0. A rule repeats itself and is asked once.

    Returns
    -------
    dict of (str, str) to pandas.DataFrame
        By dataset and label: `item_id, aspect, score` (the mean of the replies), `parsed, unparsed` and the versions'
        `original, perturbation, level`.

    Raises
    ------
    Waiting
        When a batch has replies to come, after everything was submitted.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> texts = nj.dhp.originals(nj.load("summeval", "sample"), 2)
    >>> versions, _ = nj.dhp.perturb(texts, nj.dhp.perturbations("summeval")[:1], seed=0)
    >>> prompts = {"summeval": [nj.prompt("dhp/summarization/fluency")]}
    >>> found = rate({"summeval": versions}, prompts, judges_of_rows("surface"))
    >>> found["summeval", "surface"]["perturbation"].unique().tolist()
    ['original', 'deletions, minor']
    """
    found = {}
    waiting = []
    for dataset, items in versions.items():
        for label, judge in judges.items():
            count, settings = _request(judge, samples, temperature)
            try:
                replies = judge_items(
                    items, prompts[dataset], judge, samples=count, sampling=settings
                )
            except Waiting as error:
                waiting.append(error)
                continue
            found[dataset, label] = item_scores(replies).merge(items[_KEYS], on="item_id")
    if waiting:
        raise AllWaiting(waiting)
    return found


def rating_plan(versions, prompts, judges, *, samples=None, temperature=None, price=None):
    """Say what `rate` would ask for, and ask nothing.

    Parameters
    ----------
    versions, prompts, judges, samples, temperature
        As for `rate`. Where none of the judges takes calls, the plan is that of any model.
    price : (float, float), optional
        Of a million prompt and a million completion tokens.

    Returns
    -------
    pandas.DataFrame
        By judge and dataset, the columns of `nlgjudge.judging.dry_run.COUNTS`, and `cost` where a price is given.
        A request that two labels share is counted with the first.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> texts = {"summeval": nj.dhp.originals(nj.load("summeval", "sample"), 2)}
    >>> prompts = {"summeval": [nj.prompt("dhp/summarization/fluency")]}
    >>> rating_plan(texts, prompts, {})["samples"].item()  # two texts, five replies each
    10
    """
    served = {label: judge for label, judge in judges.items() if hasattr(judge, "plan")}
    lines = {}
    walks = {}
    for label, judge in (served or {"any model": None}).items():
        walk = walks.setdefault(id(judge), DryRun(judge))
        count, settings = _request(judge, samples, temperature)
        for dataset, items in versions.items():
            before = dict(walk.counts)
            for prompt in prompts[dataset]:
                walk.count(Tasks(items, prompt, n=count, **settings))
            lines[label, dataset] = {name: walk.counts[name] - before[name] for name in COUNTS}
    index = pd.MultiIndex.from_tuples(lines, names=["judge", "dataset"])
    table = pd.DataFrame(list(lines.values()), index=index, columns=list(COUNTS))
    if price:
        table["cost"] = (
            table[["prompt_tokens", "completion_tokens"]].astype(float) @ list(price) / 1e6
        )
    return table


def _request(judge, samples, temperature):
    """Replies an item, and sampling parameters."""
    count = samples or (1 if isinstance(judge, Surface) else SAMPLES)
    settings = dict(SAMPLING)
    if temperature is not None:
        settings["temperature"] = temperature
    return count, settings
