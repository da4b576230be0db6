"""What an ablation found, in sentences that hold for whatever was compared."""

import numpy as np

from nlgjudge.ledger.words import counted, listed

SIGNIFICANT = 0.05


def direction(result):
    """Say in which direction the correlation with people moved, and by how much.

    Parameters
    ----------
    result : pandas.DataFrame
        `Ablation.result`.

    Returns
    -------
    str
    """
    moves = result["difference"].round(2)
    size = moves.abs()
    known = list(result["aspect"][moves.notna()])
    lower = list(result["aspect"][moves < 0])
    higher = list(result["aspect"][moves > 0])
    if not known:
        return "No aspect has a difference: the correlation is not defined."
    where = f"in all {counted(len(known))} aspects" if len(known) > 1 else f"for {known[0]}"
    if not lower and not higher:
        return f"The correlation with people is the same {where}, to two decimals."
    if len(lower) == len(known) or len(higher) == len(known):
        word = "lower" if lower else "higher"
        by = f"{size.max():.2f}"
        if size.min() < size.max():
            by = f"{size.min():.2f} to {by}"
        return f"The variant's correlation with people is {word} {where}, by {by}."
    parts = []
    for word, aspects in {"lower": lower, "higher": higher}.items():
        if aspects:
            parts.append(f"{word} for {listed(aspects)}")
    return f"The variant's correlation with people is {' and '.join(parts)}, by at most {size.max():.2f}."


def significance(result):
    """Say which differences are significant, with items and with systems swapped.

    Parameters
    ----------
    result : pandas.DataFrame
        `Ablation.result`.

    Returns
    -------
    str
    """
    items = list(result["aspect"][result["holm"] < SIGNIFICANT])
    systems = list(result["aspect"][result["holm_systems"] < SIGNIFICANT])
    if not items and not systems:
        return "No difference is significant at 5% after Holm's correction, with items or with systems swapped."
    where = [_where(found, result) if found else "nowhere" for found in (items, systems)]
    return (
        f"After Holm's correction the difference is significant at 5% {where[0]} with items swapped (other items "
        f"of these systems), and {where[1]} with systems swapped (other systems)."
    )


def beyond_zero(result):
    """Say which intervals of a difference exclude zero.

    Parameters
    ----------
    result : pandas.DataFrame
        `Ablation.result`.

    Returns
    -------
    str
    """
    found = list(result["aspect"][(result["ci_low"] > 0) | (result["ci_high"] < 0)])
    if not found:
        return "Every interval of a difference includes zero."
    return f"The interval of the difference excludes zero {_where(found, result)}."


def moved(shifts):
    """Say how far the scores themselves moved.

    Parameters
    ----------
    shifts : pandas.DataFrame
        `Ablation.shifts`.

    Returns
    -------
    str
    """
    most = shifts["shift"].abs().max()
    if np.isnan(most):
        return "No item was scored by both setups."
    return (
        f"Mean scores move by at most {most:.2f}. The baseline takes {_span(shifts['baseline_values'])} "
        f"distinct scores in an aspect, the variant {_span(shifts['variant_values'])}."
    )


def _span(numbers):
    """As ``3 to 5``, or one number where all are equal."""
    if numbers.min() < numbers.max():
        return f"{numbers.min()} to {numbers.max()}"
    return str(numbers.max())


def _where(aspects, result):
    if len(aspects) == len(result) > 1:
        return "in every aspect"
    return f"for {listed(aspects)}"
