"""From replies to an item's score.

G-Eval (section 2, equation 1) weighs the allowed scores by their probability; with 20 samples the same sum is
their mean. What could not be read stays visible as a count.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable

import pandas as pd

from nlgjudge.data.recordings import recording, recording_spec
from nlgjudge.data.scale import MOST_UNREAD, NUMBERS, Scale
from nlgjudge.judging.estimators import get_estimator
from nlgjudge.judging.reading import Reading
from nlgjudge.judging.tasks import MISSING, Reply

COLUMNS = ["item_id", "aspect", "sample_index", "text", "score", "reason"]
REFUSED = ("refusal", "content_filter")


def responses(
    replies: str | pd.DataFrame | Iterable[Reply],
    reading: Reading | dict[str, Reading] | None = None,
    *,
    items: pd.DataFrame | None = None,
    policy: str = "nan",
    estimator: str = "expected",
    **fields,
) -> pd.DataFrame:
    """Read replies, row by row.

    Parameters
    ----------
    replies
        The name of a recording, which is read as it declares; or replies, as a frame with the columns `item_id,
        aspect, sample_index, text` and perhaps `reason, logprobs`.
    reading
        How they are read, for all or by aspect.
    items
        For recordings that name texts instead of keys; see `nlgjudge.recording`.
    policy
        What an unread reply counts as; see `nlgjudge.judging.Reading.read_all`. With ``"released"``, a score is what
        the publishers of a recording read (column `verdict`).
    estimator
        Which number token probabilities give: `expected`, `mode`, `median` or `risk_averse`.
    **fields
        Of a `Reading` for all, in place of `reading`, as `form="json"`; `scale` may be a dict by aspect.

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
    >>> replies = [Reply("a", "fluency", 0, "- Fluency: 4"), Reply("b", "fluency", 0, "I cannot say.")]
    >>> responses(replies)["score"].tolist()
    [4.0, nan]
    """
    get_estimator(estimator)
    if isinstance(replies, str):
        held = recording_spec(replies)
        fields = {"form": held.form, "pattern": held.pattern, "options": held.options}
        reading = _reading(held.scales or (1, 5), **fields)
        replies = recording(replies, items)
    elif reading is None:
        reading = _reading(**fields)
    frame = replies
    if not isinstance(frame, pd.DataFrame):
        frame = pd.DataFrame(list(replies), columns=[*COLUMNS[:4], "reason", "logprobs"])
    parts = []
    for aspect, part in frame.reset_index(drop=True).groupby("aspect", sort=False):
        how = reading[aspect] if isinstance(reading, dict) else reading
        parts.append(_read(part, how._replace(aspect=aspect), policy, estimator))
    return pd.concat(parts) if parts else pd.DataFrame(columns=COLUMNS)


def _reading(scale=(1, 5), **fields):
    """How replies are read, by aspect where the scale is."""
    if isinstance(scale, dict):
        return {aspect: Reading(scale=ends, **fields) for aspect, ends in scale.items()}
    return Reading(scale=scale, **fields)


def _read(replies, reading, policy, estimator):
    """Read the replies of an aspect."""
    is_released = policy == "released"
    scores = _released(replies) if is_released else reading.read_all(replies["text"], policy)
    replies = replies.loc[scores.index]  # without what the policy drops
    reason = replies["reason"] if "reason" in replies else pd.Series("", replies.index)
    text = replies["text"].fillna("")
    is_cut = (reason == "length") & (text.str.strip() != "")
    scores["reason"] = scores["reason"].where((reason == "") | is_cut, reason)
    # Without a reply there is nothing to read, whatever the policy for replies.
    scores.loc[reason.isin(MISSING), "score"] = math.nan
    read = replies[COLUMNS[:4]].join(scores)
    if "logprobs" in replies and (replies["logprobs"].map(len) > 0).any():
        read = _by_probabilities(read, replies["logprobs"], estimator, reading)
    if policy == "nan":
        is_open = [cut and reading.is_open(part) for cut, part in zip(is_cut, text)]
        read.loc[is_open, "score"] = math.nan
    read["score"] = reading.turn(read["score"])
    is_unread = read["score"].isna() | (read["reason"] != "")
    read.loc[is_cut & is_unread, "reason"] = "length"
    return read


def _released(replies):
    """Scores that the publishers of a recording read."""
    if "verdict" not in replies:
        raise ValueError(
            "policy='released': expected a recording with the publishers' own verdicts, as llmbar's; got replies "
            "alone, so take another policy"
        )
    read = replies.assign(score=replies["verdict"].astype(float), reason="")
    read.loc[read["score"].isna(), "reason"] = "no_rating"
    return read[["score", "reason"]]


def _by_probabilities(read, logprobs, estimator, reading):
    """Scores, reasons and mass of the replies that have token probabilities."""
    lines = []
    for text, score, reason, tokens in zip(read["text"], read["score"], read["reason"], logprobs):
        mass = math.nan
        if len(tokens):
            likely = reading.weigh(tokens)
            score, reason = likely.by(estimator), likely.reason
            is_whole = text == "".join(token for token, _ in tokens)
            if not is_whole and not reason and reading.read(text).score != likely.score:
                score, reason = math.nan, "tokens_differ"
            mass = math.nan if reason else likely.mass
        lines.append((score, reason, mass))
    read[["score", "reason", "mass"]] = pd.DataFrame(lines, index=read.index)
    if read["mass"].mean() < 0.5:
        warnings.warn(
            f"{reading.aspect}: only {read['mass'].mean():.0%} of the token probability is on ratings; "
            "the model mostly writes something else where it rates, so look at its replies",
            stacklevel=4,
        )
    return read


def item_scores(
    replies: pd.DataFrame | dict[str, pd.DataFrame],
    *,
    samples: int | None = None,
    scales: dict[str, Scale] | None = None,
) -> pd.DataFrame:
    """Average an item's samples; of categories, take the most frequent one.

    Parameters
    ----------
    replies
        From `nlgjudge.judge_items` or `nlgjudge.judging.responses`; with a column `judge`, the score is the mean of the
        judges that rated the item. Or several by name, of which one may have scores already.
    samples
        Use the first `samples` replies of each item; None for all.
    scales
        What the scores of an aspect are, as of a benchmark; numbers by default. Of categories, two that are as frequent
        give no score.

    Returns
    -------
    pandas.DataFrame
        `item_id, aspect, score` (NaN where no sample has one), `parsed, unparsed` (counts), and the mean `mass`
        if the replies have it. Of several, `item_id` and columns ``NAME:ASPECT``, or ``NAME`` without an aspect, ready
        for a benchmark's `with_scores`.

    Examples
    --------
    >>> replies = responses([Reply("a", "fluency", index, text) for index, text in enumerate(["4", "5", "none"])])
    >>> item_scores(replies)[["score", "parsed", "unparsed"]].values.tolist()
    [[4.5, 2.0, 1.0]]
    >>> item_scores({"MODEL": replies}).values.tolist()
    [['a', 4.5]]
    """
    scales = scales or {}
    if isinstance(replies, dict):
        return _wide(replies, samples=samples, scales=scales)
    sums = {"score": "mean", "parsed": "sum", "unparsed": "sum", "mass": "mean"}
    if "judge" in replies:
        judges = [part.drop(columns="judge") for _, part in replies.groupby("judge", sort=False)]
        votes = pd.concat([item_scores(part, samples=samples, scales=scales) for part in judges])
    else:
        votes = replies if samples is None else replies[replies["sample_index"] < samples]
        votes = votes.assign(parsed=votes["score"].notna(), unparsed=votes["score"].isna())
    sums = {name: how for name, how in sums.items() if name in votes}
    frame = votes.groupby(["item_id", "aspect"], sort=False).agg(sums)
    for aspect, part in votes.groupby("aspect", sort=False):
        chosen = scales.get(aspect, NUMBERS).combine(part, ["item_id", "aspect"])
        frame.loc[chosen.index, "score"] = chosen
    return frame.reset_index()


def _wide(by_name, **how):
    """A column for each name and aspect."""
    columns = []
    for name, frame in by_name.items():
        scores = item_scores(frame, **how) if "sample_index" in frame else frame
        column = (name + ":" + scores["aspect"]).str.removesuffix(":")
        columns.append(scores.assign(column=column))
    return pd.concat(columns).pivot(index="item_id", columns="column", values="score").reset_index()


def why_unread(replies: pd.DataFrame, readings: Iterable[Reading]) -> str:
    """Say why most replies hold no rating, which form was expected, and what to do; empty if most hold one.

    Replies that nobody asked for or gave do not count, and those that a filter withheld only if all are.

    Examples
    --------
    >>> replies = responses([Reply("a", "fluency", 0, "", "length")])
    >>> why_unread(replies, [Reading()]).partition(". ")[0]
    '1 of 1 hold no rating: expected a number from 1 to 5, got 1 × length'
    """
    came = replies[~replies["reason"].isin(MISSING)]
    withheld = came["reason"] == "content_filter"
    came = came[~withheld | withheld.all()]
    unread = came[came["score"].isna()]
    if 2 * len(unread) <= len(came):
        return ""
    texts = unread["text"].map(lambda text: f" {' '.join(text.split())[:100]!r}" if text else "")
    kinds = (unread["reason"] + texts).value_counts().head(3)
    got = "; ".join(f"{number} × {kind}" for kind, number in kinds.items())
    expected = " or ".join(dict.fromkeys(map(_expected, readings)))
    return (
        f"{len(unread):,} of {len(came):,} hold no rating: expected {expected}, got {got}. Where they hold one, "
        "say by a pattern (--pattern, or in options or a set-up) how it is written; where they are cut off (length) or "
        "all reasoning, raise --max-tokens; else take another model, or a server without a filter (content_filter)"
    )


def _expected(reading):
    """The form of a reply, in words."""
    low, high = reading.scale
    number = f"a number from {low:g} to {high:g}"
    forms = {"yes_no": "yes or no", "json": f"JSON with {number}"}
    forms["choice"] = " or ".join(reading.options)
    return forms.get(reading.form, number) + f", as in {reading.pattern!r}" * bool(reading.pattern)


def reply_counts(responses: pd.DataFrame, examples: int = 0) -> str:
    """Say how many replies were read, unread and refused: shown next to every correlation of a judge.

    Parameters
    ----------
    responses
        As from `nlgjudge.judge_items`.
    examples
        Unreadable replies to show if more than 5% are unread. They contain replies in full words, so show
        them on screen only.

    Returns
    -------
    str
        A line with the counts, missing replies included. If more than 5% of the replies are unread or
        refused, a warning comes first.

    Examples
    --------
    >>> replies = pd.DataFrame({"score": [4.0, float("nan")], "reason": ["", "refusal"], "text": ["4", "No."]})
    >>> print(reply_counts(replies))
    WARNING: 50% of the replies have no rating, and the results leave them out.
    replies: 1 parsed, 0 unparsed, 1 refused (refusal 1)
    """
    without = responses[(responses["score"].isna()) | (responses["reason"] != "")]
    reasons = Counter(without["reason"])
    refused = sum(reasons[reason] for reason in REFUSED)
    missing = sum(reasons[reason] for reason in MISSING)
    came = len(responses) - missing
    unread = len(without) - refused - missing
    line = f"replies: {len(responses) - len(without):,} parsed, {unread:,} unparsed, {refused:,} refused"
    if missing:
        line += f", {missing:,} missing"
    if reasons:
        listed = ", ".join(f"{reason or 'no score'} {n:,}" for reason, n in reasons.most_common())
        line += f" ({listed})"
    if unread + refused <= MOST_UNREAD * came:
        return line
    share = (unread + refused) / came
    lines = [f"WARNING: {share:.0%} of the replies have no rating, and the results leave them out."]
    texts = without.loc[~without["reason"].isin(MISSING) & (without["text"] != ""), "text"]
    lines += [f"  unreadable: {' '.join(text.split())[:200]!r}" for text in texts.head(examples)]
    return "\n".join([*lines, line])
