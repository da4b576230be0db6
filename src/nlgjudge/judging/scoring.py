"""From replies to an item's score.

G-Eval (section 2, equation 1) weighs the allowed scores by their probability; with 20 samples the same sum is
their mean. What could not be parsed stays visible as a count.
"""

import math
import warnings

import pandas as pd

from nlgjudge.data.recordings import recording, recording_spec
from nlgjudge.judging.heads import get_head
from nlgjudge.judging.reading import Reading

COLUMNS = ["item_id", "aspect", "sample_index", "text", "score", "reason"]
# Without a reply there is nothing to read, whatever the policy for replies.
_NO_REPLY = ("not asked", "not answered", "not recorded")


def responses(
    replies,
    reading=None,
    *,
    policy="nan",
    head="expected",
    **how,
):
    """Parse replies, row by row.

    Parameters
    ----------
    replies : iterable of nlgjudge.judging.tasks.Reply, or pandas.DataFrame
        With `item_id, aspect, sample_index, text` and perhaps `reason, logprobs`.
    reading : Reading, or dict of str to Reading
        How they are read, for all or by aspect. Its fields may be given instead, as `form="json"`; `scale` may be
        a dict by aspect.
    policy : str
        See `Reading.read_all`.
    head : str
        Which number token probabilities give: one of `nlgjudge.judging.heads.HEADS`.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, sample_index, text, score, reason`, grouped by aspect; and `mass`, the probability on
        ratings, if any reply has token probabilities. These then give the score of the reply, or a reason why
        they do not: `split_rating`, `no_probabilities`, or `tokens_differ` where the tokens are not those of the
        text. A reply that was not asked for, answered or recorded keeps its reason and has no score. One that
        was cut (`length`) has a score if it holds a whole rating: on 0 to 100 a last "8" may be that of "85".

    Warns
    -----
    UserWarning
        Where the mean `mass` of an aspect is below one half.

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Reply
    >>> replies = [Reply("a", "fluency", 0, "- Fluency: 4"), Reply("b", "fluency", 0, "I cannot say.")]
    >>> responses(replies)["score"].tolist()
    [4.0, nan]
    """
    get_head(head)
    if reading is None:
        scales = how.pop("scale", (1, 5))
        by_aspect = scales if isinstance(scales, dict) else {None: scales}
        reading = {aspect: Reading(scale=scale, **how) for aspect, scale in by_aspect.items()}
        reading = reading.get(None, reading)
    frame = replies
    if not isinstance(replies, pd.DataFrame):
        frame = pd.DataFrame(list(replies), columns=[*COLUMNS[:4], "reason", "logprobs"])
    frame = frame.reset_index(drop=True)
    parts = []
    for aspect, part in frame.groupby("aspect", sort=False):
        how = (reading[aspect] if isinstance(reading, dict) else reading)._replace(aspect=aspect)
        parsed = how.read_all(part["text"], policy)
        given = part.loc[parsed.index, "reason"] if "reason" in part else ""
        given = pd.Series(given, index=parsed.index)
        text = part.loc[parsed.index, "text"].fillna("")
        cut = (given == "length") & (text.str.strip() != "")
        parsed["reason"] = parsed["reason"].where((given == "") | cut, given)
        parsed.loc[given.isin(_NO_REPLY), "score"] = math.nan
        read = part[COLUMNS[:4]].join(parsed, how="right")
        if "logprobs" in part and (part["logprobs"].map(len) > 0).any():
            read = _by_probabilities(read, part.loc[read.index, "logprobs"], head, how)
        if policy == "nan":
            is_open = [is_cut and how.is_open(one) for is_cut, one in zip(cut, text)]
            read.loc[is_open, "score"] = math.nan
        read.loc[cut & (read["score"].isna() | (read["reason"] != "")), "reason"] = "length"
        parts.append(read)
    return pd.concat(parts) if parts else pd.DataFrame(columns=COLUMNS)


def _by_probabilities(read, logprobs, head, how):
    """Scores, reasons and mass of the replies that have token probabilities."""
    lines = []
    for text, score, reason, tokens in zip(read["text"], read["score"], read["reason"], logprobs):
        mass = math.nan
        if len(tokens):
            found = how.weigh(tokens)
            score, reason = found.by(head), found.reason
            is_whole = text == "".join(token for token, _ in tokens)
            if not is_whole and not reason and how.read(text).score != found.score:
                score, reason = math.nan, "tokens_differ"
            mass = math.nan if reason else found.mass
        lines.append((score, reason, mass))
    read[["score", "reason", "mass"]] = pd.DataFrame(lines, index=read.index)
    if read["mass"].mean() < 0.5:
        warnings.warn(
            f"{how.aspect}: only {read['mass'].mean():.0%} of the token probability is on ratings; "
            "the model mostly writes something else where it rates, so look at its replies",
            stacklevel=3,
        )
    return read


def recorded_responses(name, items=None, *, policy="nan", head="expected"):
    """Read a recording's replies and parse them as the recording declares.

    Parameters
    ----------
    name, items
        See `nlgjudge.recording`.
    policy, head : str
        See `responses`.

    Returns
    -------
    pandas.DataFrame
        See `responses`.
    """
    held = recording_spec(name)
    return responses(
        recording(name, items),
        {aspect: Reading(held.form, scale, held.pattern) for aspect, scale in held.scales.items()}
        or Reading(held.form, pattern=held.pattern),
        policy=policy,
        head=head,
    )


def item_scores(parsed, *, samples=None):
    """Average an item's samples.

    Parameters
    ----------
    parsed : pandas.DataFrame
        From `responses`; with a column `judge`, the score is the mean of the judges that rated the item.
    samples : int, optional
        Use the first `samples` replies of each item.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, score` (NaN where no sample has one), `parsed, unparsed` (counts), and the mean `mass`
        if `parsed` has it.

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Reply
    >>> replies = [Reply("a", "fluency", index, text) for index, text in enumerate(["4", "5", "none"])]
    >>> item_scores(responses(replies))[["score", "parsed", "unparsed"]].values.tolist()
    [[4.5, 2.0, 1.0]]
    """
    if "judge" in parsed:
        judges = [part.drop(columns="judge") for _, part in parsed.groupby("judge", sort=False)]
        each = pd.concat([item_scores(part, samples=samples) for part in judges])
        sums = {"score": "mean", "parsed": "sum", "unparsed": "sum", "mass": "mean"}
        sums = {name: how for name, how in sums.items() if name in each}
        return each.groupby(["item_id", "aspect"], sort=False).agg(sums).reset_index()
    if samples is not None:
        parsed = parsed[parsed["sample_index"] < samples]
    groups = parsed.groupby(["item_id", "aspect"], sort=False)
    frame = groups["score"].agg(score="mean", parsed="count", asked="size")
    frame["unparsed"] = frame.pop("asked") - frame["parsed"]
    if "mass" in parsed:
        frame["mass"] = groups["mass"].mean()
    return frame.reset_index()


def wide(scores):
    """One column per aspect, ready for `Benchmark.with_scores`.

    Parameters
    ----------
    scores : dict of str to pandas.DataFrame
        By judge, from `item_scores`.

    Returns
    -------
    pandas.DataFrame
        `item_id` and columns ``judge:aspect``, or ``judge`` for scores without an aspect.

    Examples
    --------
    >>> scores = pd.DataFrame({"item_id": ["a", "b"], "aspect": "fluency", "score": [4.0, 5.0]})
    >>> wide({"MODEL": scores}).columns.tolist()
    ['item_id', 'MODEL:fluency']
    """
    columns = [
        frame.assign(column=(judge + ":" + frame["aspect"]).str.removesuffix(":"))
        for judge, frame in scores.items()
    ]
    return pd.concat(columns).pivot(index="item_id", columns="column", values="score").reset_index()
