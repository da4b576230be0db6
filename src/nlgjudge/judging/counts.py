"""How many replies were read, in words: shown next to every correlation of a judge."""

from collections import Counter

from nlgjudge.judging.tasks import NOT_ANSWERED, NOT_ASKED

REFUSED = ("refusal", "content_filter")
MISSING = (NOT_ASKED, NOT_ANSWERED, "not recorded")
MOST_UNPARSED = 0.05  # share above which it comes first


def reply_counts(responses, examples=0):
    """Say how many replies were parsed, unparsed and refused.

    Parameters
    ----------
    responses : pandas.DataFrame
        As from `nlgjudge.judge_items`.
    examples : int
        Unreadable replies to show if more than 5% are unparsed. They contain replies in full words, so show
        them on screen only.

    Returns
    -------
    str
        A line with the counts, missing replies included. If more than 5% of the replies are unparsed or
        refused, a warning comes first.

    Examples
    --------
    >>> import pandas as pd
    >>> responses = pd.DataFrame({"score": [4.0, float("nan")], "reason": ["", "refusal"], "text": ["4", "No."]})
    >>> print(reply_counts(responses))
    WARNING: 50% of the replies have no rating, and the results leave them out.
    replies: 1 parsed, 0 unparsed, 1 refused (refusal 1)
    """
    without = responses[(responses["score"].isna()) | (responses["reason"] != "")]
    reasons = Counter(without["reason"])
    refused = sum(reasons[reason] for reason in REFUSED)
    missing = sum(reasons[reason] for reason in MISSING)
    given = len(responses) - missing
    unparsed = len(without) - refused - missing
    said = f"replies: {len(responses) - len(without):,} parsed, {unparsed:,} unparsed, {refused:,} refused"
    if missing:
        said += f", {missing:,} missing"
    if reasons:
        listed = ", ".join(f"{reason or 'no score'} {n:,}" for reason, n in reasons.most_common())
        said += f" ({listed})"
    if unparsed + refused <= MOST_UNPARSED * given:
        return said
    share = (unparsed + refused) / given
    lines = [f"WARNING: {share:.0%} of the replies have no rating, and the results leave them out."]
    unread = without.loc[~without["reason"].isin(MISSING) & (without["text"] != ""), "text"]
    lines += [f"  unreadable: {' '.join(text.split())[:200]!r}" for text in unread.head(examples)]
    return "\n".join([*lines, said])
