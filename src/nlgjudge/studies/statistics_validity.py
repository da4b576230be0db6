"""Studies whose truth is known, to see whether intervals and tests keep their promises."""

import numpy as np
import pandas as pd


def planted(
    rng,
    *,
    documents=40,
    systems=10,
    correlations=(0.5, 0.5),
    shared=0.5,
    of_systems=0.2,
    of_documents=0.2,
    step=0.0,
):
    """Draw a study: human ratings and judges that correlate with them as planted.

    Every score is a normal variable with a part of its document, of its system and of the
    item, and judges correlate with the human ratings by the same r in each part. Pearson's is
    therefore r over all that could be drawn, and Kendall's tau 2/pi asin(r) (Greiner 1909) in
    expectation, at sample and system level, for every number of documents and systems.

    Parameters
    ----------
    rng : numpy.random.Generator
    documents, systems : int
    correlations : sequence of float
        In [-1, 1], one a judge; the judges are called a, b, and so on.
    shared : float
        In [0, 1], correlation of what the judges do not share with the human ratings.
    of_systems, of_documents : float
        Shares of the variance; the item has the rest.
    step : float
        Scores are rounded to its multiples (1 is a standard deviation), which makes ties; the
        planted values are then those before rounding.

    Returns
    -------
    pandas.DataFrame
        `doc_id, system_id, human, a, b, ...`

    Raises
    ------
    ValueError
        For shares outside [0, 1] or correlations outside [-1, 1].

    Examples
    --------
    >>> study = planted(np.random.default_rng(0), documents=2, systems=3)
    >>> list(study.columns), len(study)
    (['doc_id', 'system_id', 'human', 'a', 'b'], 6)
    """
    shares = np.array([of_systems, of_documents, 1 - of_systems - of_documents])
    wanted = np.asarray(correlations, float)
    if shares.min() < 0 or not 0 <= shared <= 1 or np.abs(wanted).max() > 1 or step < 0:
        raise ValueError(
            f"of_systems={of_systems}, of_documents={of_documents}, shared={shared}, "
            f"correlations={tuple(wanted)}, step={step}: expected shares in [0, 1] that sum to "
            "at most 1, correlations in [-1, 1] and a step of at least 0"
        )
    of_human = wanted[:, None, None]
    of_rest = np.sqrt(1 - wanted**2)[:, None, None]
    columns = 0
    for share, size in zip(shares, ((1, systems), (documents, 1), (documents, systems))):
        human, common, *own = rng.standard_normal((2 + len(wanted), *size))
        rest = np.sqrt(shared) * common + np.sqrt(1 - shared) * np.array(own)
        judges = of_human * human + of_rest * rest
        columns = columns + np.sqrt(share) * np.concatenate([human[None], judges])
    if step:
        columns = step * np.round(columns / step)
    names = ["human", *(chr(ord("a") + place) for place in range(len(wanted)))]
    keys = {
        "doc_id": np.repeat(np.arange(documents), systems),
        "system_id": np.tile(np.arange(systems), documents),
    }
    return pd.DataFrame(keys | dict(zip(names, columns.reshape(len(names), -1))))
