"""Ledgers of what is printed and is no correlation: sizes, settings, and the scores of worked cases."""

import pandas as pd

from nlgjudge.data.paths import out
from nlgjudge.ledger.printed import published

COLUMNS = ["paper", "artefact", "row", "column", "published", "ours", "verdict", "notebook", "note"]
VERDICTS = ("same", "within_range", "differs", "stand_in", "not_run")


def settings(paper, ours, *, notebook, sample=False):
    """Set ours beside every printed line of some tables, and save it.

    Parameters
    ----------
    paper : str
    ours : pandas.DataFrame
        `artefact, row, column, ours, note`, a line for each printed one, and `verdict` where another
        than `same` for equal strings and `differs` for others: `within_range` of samples, `stand_in`
        for a rule where the paper asks a model, `not_run` (the note says what it needs).
    notebook : str
    sample : bool
        Whether ours comes from the sample; it is then kept apart.

    Returns
    -------
    pandas.DataFrame
        As saved in `settings/<notebook>.csv` of this run's results, in the printed order.

    Raises
    ------
    ValueError
        For lines that are missing, repeated or not printed, an unknown verdict, or one other than
        `same` without a note.

    Examples
    --------
    Nothing is saved before every printed line has its answer.

    >>> ours = pd.DataFrame([("table1", "Summarization / Coherence", "nonsense", "", "")],
    ...                     columns=["artefact", "row", "column", "ours", "note"])
    >>> settings("dhp", ours, notebook="example")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: expected a line for each one that dhp prints and no others, got ...
    """
    key = ["artefact", "row", "column"]
    artefacts = dict.fromkeys(ours["artefact"])
    printed = pd.concat(
        [published(paper, artefact).assign(artefact=artefact) for artefact in artefacts]
    )
    lines = printed.drop(columns="note").rename(columns={"printed": "published"})
    lines = lines.merge(ours, on=key, how="outer", indicator=True, validate="1:1", sort=False)
    odd = lines["_merge"] != "both"
    if odd.any():
        raise ValueError(
            f"expected a line for each one that {paper} prints and no others, got "
            f"{lines.loc[odd, [*key, '_merge']].iloc[0].tolist()}"
        )
    equal = (lines["published"] == lines["ours"]).map({True: "same", False: "differs"})
    lines["verdict"] = lines.get("verdict", equal).fillna(equal)
    unknown = ~lines["verdict"].isin(VERDICTS)
    unexplained = (lines["verdict"] != "same") & (lines["note"] == "")
    wrong = unknown | unexplained
    if wrong.any():
        raise ValueError(
            f"expected a verdict of {', '.join(VERDICTS)} and a note with each but the first, "
            f"got {lines.loc[wrong, [*key, 'verdict']].iloc[0].tolist()}"
        )
    in_order = printed[key].merge(lines.assign(paper=paper, notebook=notebook), on=key)[COLUMNS]
    path = out(sample) / "settings" / f"{notebook}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    in_order.to_csv(path, index=False, lineterminator="\n")
    return in_order
