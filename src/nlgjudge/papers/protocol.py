"""How a paper's printed row came about, as data: what each paper's module states for its own rows."""

from typing import NamedTuple

SCORING = ("mean", "probabilities", "single", "chain", "mean of aspects")


class Protocol(NamedTuple):
    """How a model was asked for the values of a printed row.

    The row's benchmark, aspects, levels and coefficients are those of its printed cells
    (`nlgjudge.ledger.printed.published`) and are not stated a second time.

    Attributes
    ----------
    artefacts : tuple of str
        Tables and figures that print the row, as ``("table1",)``.
    row : str
        Its label, as printed.
    model : str
        The paper's own name of the model, with the version where one is stated.
    prompt : str
        Name for `nlgjudge.judging.prompts.prompt`, with ``{task}`` and ``{aspect}`` to be filled; empty where
        the paper prints no prompt for the row.
    samples : int
        Replies an item.
    sampling : dict
        Sampling parameters as the paper states them. None says that the section leaves the parameter open.
    scoring : {"mean", "probabilities", "single", "chain", "mean of aspects"}
        How replies become an item's score: the mean of the samples' ratings, the expected rating under the
        tokens' probabilities, the only rating, or the last rating of a chain of aspects, or the mean of the
        aspects' ratings.
    source : str
        Section, appendix or page.
    note : str
        What the paper leaves open, and what is sent instead.
    aspects : int
        Relevant aspects that a chain rates before the target; 0 without a chain.
    sent : dict
        What is sent for parameters that the paper leaves open.

    Examples
    --------
    >>> from nlgjudge.papers import geval
    >>> found = rows(geval.PROTOCOLS)["G-EVAL-4"]
    >>> found.prompt, found.samples, found.parameters
    ('geval/{task}/{aspect}', 20, {'temperature': 1, 'top_p': 1})
    """

    artefacts: tuple
    row: str
    model: str
    prompt: str
    samples: int
    sampling: dict
    scoring: str
    source: str
    note: str = ""
    aspects: int = 0
    sent: dict = {}

    @property
    def parameters(self):
        """Sampling parameters of a request: the paper's, and ours where it leaves one open.

        Returns
        -------
        dict
        """
        stated = {name: value for name, value in self.sampling.items() if value is not None}
        return stated | self.sent


def rows(protocols, artefact=""):
    """Protocols by row label.

    Parameters
    ----------
    protocols : iterable of Protocol
    artefact : str
        As ``"table1"``; empty for all.

    Returns
    -------
    dict of str to Protocol

    Raises
    ------
    KeyError
        For an artefact in which no model's row is printed.

    Examples
    --------
    >>> from nlgjudge.papers import geval
    >>> rows(geval.PROTOCOLS, "table2")["G-EVAL-4"].samples
    20
    """
    found = {one.row: one for one in protocols if not artefact or artefact in one.artefacts}
    if not found:
        known = sorted({name for one in protocols for name in one.artefacts})
        raise KeyError(f"no model's row is printed in {artefact!r}; there are {', '.join(known)}")
    return found
