"""What an evaluation on your own data found, in sentences and on one page."""

from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
import pandas as pd

from nlgjudge.ledger.words import listed
from nlgjudge.studies.own_data_comparing import LEVEL, RANKED, needed


def verdicts(evaluation):
    """Say for each aspect whether the data can name a best method, and if not, what ties.

    One is named where its interval lies above zero, and every other method agrees less beyond chance (5%,
    paired permutations of documents, after Holm). Fewer documents than `needed` never name one.

    Parameters
    ----------
    evaluation : Evaluation

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> from nlgjudge.data.benchmarks import load
    >>> from nlgjudge.studies.your_own_data import evaluate
    >>> found = evaluate(load("summeval", "sample"), limit=4, resamples=20, permutations=19)
    >>> verdicts(found)["relevance"].split(":")[0]
    'These data cannot name one'
    """
    by_aspect = evaluation.table.groupby("aspect", sort=False)
    return {aspect: _verdict(rows) for aspect, rows in by_aspect}


def shown(row):
    """Write a correlation with its interval, and on how many units it rests where some were left out.

    Parameters
    ----------
    row : pandas.Series
        Of `Evaluation.table`.

    Returns
    -------
    str

    Examples
    --------
    >>> shown(pd.Series({"ours": 0.512, "ci_low": 0.4, "ci_high": 0.6, "n": 95, "n_skipped": 5}, dtype=object))
    '0.51 [0.40, 0.60] on 95 of 100'
    """
    if pd.isna(row["ours"]):
        return f"not compared: {row['reason']}"
    text = f"{row['ours']:.2f} {_interval(row)}"
    if row["n_skipped"]:
        text += f" on {row['n']} of {row['n'] + row['n_skipped']}"
    return text


def spent(row):
    """Write what a method costs.

    Parameters
    ----------
    row : pandas.Series
        Of `Evaluation.table`, or of what `plan` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> spent(pd.Series({"calls": 20, "prompt_tokens": 9000, "completion_tokens": 1000, "cost": 0.002,
    ...                  "estimated": True}))
    '20 calls, 10.0 k tokens, price 0.0020 at most'
    """
    if pd.isna(row["calls"]):
        return "no call"
    tokens = (row["prompt_tokens"] + row["completion_tokens"]) / 1000
    text = f"{row['calls']:.0f} calls, {tokens:.1f} k tokens"
    if not pd.isna(row["cost"]):
        text += f", price {row['cost']:.4f}"
    if row["estimated"]:
        text += " at most"
    if row.get("unparsed", 0) > 0:
        text += f"; {row['unparsed']:.0f} replies without a rating"
    if row.get("missing", 0) > 0:
        text += f"; {row['missing']:.0f} replies not given"
    return text


def page(evaluation, path, *, title="Which judge agrees with your raters?", notes=()):
    """Write an `Evaluation` as one HTML page that loads nothing.

    Parameters
    ----------
    evaluation : Evaluation
    path : path-like
    title : str
    notes : list of str
        Said before the evaluation's own, as what `check_own_data` found.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import tempfile
    >>> from nlgjudge.data.benchmarks import load
    >>> from nlgjudge.studies.your_own_data import evaluate
    >>> found = evaluate(load("summeval", "sample"), limit=4, resamples=20, permutations=19)
    >>> path = page(found, Path(tempfile.mkdtemp()) / "report.html")
    >>> path.read_text(encoding="utf-8").count("<section>")
    4
    """
    table = evaluation.table
    said = verdicts(evaluation)
    low = _lowest_tenth(table)
    sections = [
        _section(aspect, rows, said[aspect], low)
        for aspect, rows in table.groupby("aspect", sort=False)
    ]
    told = [f"<li>{escape(note)}" for note in [*notes, *evaluation.notes]] or ["<li>none"]
    template = Template(
        files("nlgjudge").joinpath("studies/your_own_data.html").read_text(encoding="utf-8")
    )
    settings = {name: escape(str(value)) for name, value in evaluation.settings.items()}
    text = template.substitute(
        settings,
        title=escape(title),
        sections="".join(sections),
        notes="".join(told),
        ranked=RANKED,
    )
    path = Path(path)
    path.write_text(text, encoding="utf-8")
    return path


def _lowest_tenth(table):
    """Where the strips begin: at zero, or at the tenth below the lowest value."""
    lowest = table[["ci_low", "ours"]].min(axis=None)
    if pd.isna(lowest):
        return 0
    return min(0, np.floor(10 * lowest) / 10)


def _section(aspect, rows, said, low):
    """An aspect: the verdict, what it rests on, and a table with a line for each method."""
    lines = "".join(_line(row, low) for _, row in rows.iterrows())
    first = rows.iloc[0]
    return (
        f"<section><h2>{escape(aspect)}</h2><p><strong>{escape(said)}</strong> "
        f"{escape(_ceiling(first))}</p><p>{escape(_basis(first))}</p>"
        f"<table><thead><tr><th>method<th>correlation, 95% interval<th>{low:g} to 1"
        f"<th>p against the best<th>p for other systems<th>cost<tbody>{lines}</table></section>"
    )


def _verdict(rows):
    """Say of one aspect whether a best method can be named."""
    compared = rows[rows["ours"].notna()]
    if compared.empty:
        return f"No method can be compared: {rows.iloc[0]['reason']}."
    return _first_place(compared) + _above_the_raters(compared)


def _first_place(compared):
    best = compared.iloc[0]
    best_or_tied = ~(compared["p"] < LEVEL)  # the best itself has no p
    tied = compared[best_or_tied]
    values = []
    for _, row in tied.iterrows():
        values.append(f"{row['method']} {row['ours']:.2f} {_interval(row)}")
    in_order = "; ".join(values)
    cannot = "These data cannot name one"
    if len(compared) == 1:
        return f"Only {in_order} can be compared, so that nothing comes first."
    enough = needed(len(compared))
    if best["documents"] < enough:
        return (
            f"{cannot}: to tell one of {len(compared)} methods from the others takes {enough} documents "
            f"or more, and {best['documents']} are compared. Highest first: {in_order}."
        )
    if pd.isna(best["ci_low"]):
        return f"{cannot}: the interval of the highest, {best['method']}, is undefined."
    if best["ci_low"] <= 0:
        said = f"{cannot}: even the highest, {best['method']} {shown(best)}, may be no agreement at all."
        if len(tied) > 1:
            said += f" Not told apart from it: {', '.join(tied['method'].iloc[1:])}."
        return said
    if len(tied) > 1:
        said = f"{cannot}. Not told apart: {in_order}."
        if len(tied) < len(compared):
            said += f" The others agree less, {_beyond_chance(compared[~best_or_tied])}."
        return said + _cheapest(tied)
    return f"{best['method']} comes first, {shown(best)}; the others agree less, {_beyond_chance(compared.iloc[1:])}."


def _beyond_chance(others):
    """For which systems several methods agree less with people than the best, by the tests."""
    if (others["p_systems"] < LEVEL).all():
        return "beyond chance on these systems and on others"
    return "beyond chance on these systems"


def _cheapest(tied):
    """Which of several methods costs least; empty where nothing costs, or two models' prices are unknown."""
    asked = tied[tied["calls"].notna()]
    free = tied.loc[tied["calls"].isna(), "method"]
    if asked.empty:
        return ""
    if len(free):
        verb = "costs" if len(free) == 1 else "cost"
        return f" Of these, {listed(free)} {verb} nothing."
    if asked["judge"].nunique() > 1:
        return ""
    cost = asked["cost"]
    if cost.isna().any():
        cost = asked["prompt_tokens"] + 4 * asked["completion_tokens"]  # as prices mostly are
    return f" Of these, {asked.loc[cost.idxmin(), 'method']} costs least."


def _above_the_raters(compared):
    """The caution that a ceiling needs where a method lies above it."""
    limit = compared["ceiling"].iloc[0]
    above = compared.loc[compared["ours"] > limit, "method"]
    if pd.isna(limit) or above.empty:
        return ""
    verb = "agrees" if len(above) == 1 else "agree"
    return (
        f" {listed(above)} {verb} with the raters' mean more than a rater does with the mean of the "
        f"others ({limit:.2f}): that mean is of one rater fewer and so less exact, and this does not "
        "show that a method is better than a person."
    )


def _ceiling(row):
    """The raters among themselves, in a sentence."""
    if row["raters"] == 1:
        return "There is one rating an item, so that the raters' agreement is not known."
    if pd.isna(row["ceiling"]):
        return "The raters have too little in common for a correlation with each other."
    units = "documents" if row["level"] == "sample" else "outputs"
    return (
        f"A rater attains {row['ceiling']:.2f} against the mean of the others (dashed; {row['raters']} "
        f"raters, each on at least {row['ceiling_n']:.0f} of {row['n']} {units}; Krippendorff's alpha "
        f"{row['alpha']:.2f})."
    )


def _basis(row):
    """On what an aspect's numbers rest, in a sentence."""
    if row["level"] == "sample":
        text = f"Sample level, all methods on the same {row['n']} documents"
    else:
        text = f"Dataset level, all methods on the same {row['n']} outputs of {row['documents']} documents"
    return f"{text}: {row['why']}." if row["why"] else f"{text}."


def _interval(row):
    if pd.isna(row["ci_low"]):
        return "without an interval"
    return f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}]"


def _line(row, low):
    """A method's line, with its interval as a strip from `low` to 1."""

    def place(value):
        return f"{100 * (value - low) / (1 - low):.1f}"

    marks = {"nil": f"M{place(0)} 0V10"}
    if not pd.isna(row["ceiling"]):
        marks["top"] = f"M{place(row['ceiling'])} 0V10"
    if not pd.isna(row["ci_low"]):
        marks[""] = f"M{place(row['ci_low'])} 5H{place(row['ci_high'])}"
    if not pd.isna(row["ours"]):
        marks["dot"] = f"M{place(row['ours'])} 1V9"
    strip = "".join(f'<path class="{kind}" d="{drawn}"/>' for kind, drawn in marks.items())
    p_values = ["" if pd.isna(row[name]) else f"{row[name]:.3f}" for name in ("p", "p_systems")]
    label = escape(shown(row))
    return (
        f'<tr><th>{escape(row["method"])}<td data-label="correlation">{label}<td><svg role="img" '
        f'viewBox="0 0 100 10" preserveAspectRatio="none" aria-label="{label}">{strip}</svg>'
        f'<td data-label="p against the best">{p_values[0]}'
        f'<td data-label="p for other systems">{p_values[1]}<td data-label="cost">{spent(row)}'
    )
