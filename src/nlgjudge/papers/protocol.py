"""How a paper's printed rows came about, as data: what each paper's module states for its own rows and tables."""

from typing import NamedTuple

SCORING = ("mean", "probabilities", "single", "chain", "chain of rated aspects", "mean of aspects")


class Scope(NamedTuple):
    """What a printed table measures on one dataset: which items are judged, and against which ratings.

    Attributes
    ----------
    artefacts : tuple of str
        The tables, as ``("table1", "table4")``.
    dataset : str
        As the tables' column `dataset` has it.
    benchmark : str
        Name for `nlgjudge.load`.
    task : str
        Fills ``{task}`` in the name of a row's prompt.
    aspects : dict of str to (str, str)
        By aspect as printed: the aspect that the prompt asks for, and the one that people rated.
    left_out : tuple of str
        Systems whose texts are not judged.
    not_asked : dict of str to tuple of str
        By a row's label, aspects for which the paper did not ask and prints a dash.
    reversed : bool
        Whether the prompt asks for the opposite of what people rated, as for a fault in the place of a quality.
    constant : {"skip", "zero", "nan"}
        What a document counts as on which all scores are equal, at sample level.
    source, note : str
        Section or page, and what is found or chosen rather than stated.
    """

    artefacts: tuple
    dataset: str
    benchmark: str
    task: str
    aspects: dict
    left_out: tuple = ()
    not_asked: dict = {}
    reversed: bool = False
    constant: str = "skip"
    source: str = ""
    note: str = ""

    def aspects_of(self, row):
        """Aspects that a row was asked for.

        Parameters
        ----------
        row : str
            Its label, as printed.

        Returns
        -------
        dict of str to (str, str)
            As `aspects`.
        """
        without = self.not_asked.get(row, ())
        return {printed: pair for printed, pair in self.aspects.items() if printed not in without}


def same(*aspects):
    """Aspects that are printed, asked for and rated under one name.

    Parameters
    ----------
    *aspects : str

    Returns
    -------
    dict of str to (str, str)

    Examples
    --------
    >>> same("fluency")
    {'fluency': ('fluency', 'fluency')}
    """
    return {aspect: (aspect, aspect) for aspect in aspects}


class Protocol(NamedTuple):
    """How a model was asked for the values of a printed row.

    The row's levels and coefficients are those of its printed cells (`nlgjudge.ledger.printed.published`) and are
    not stated a second time; benchmark and aspects are those of its table's `Scope`.

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
    scoring : str
        How replies become an item's score, one of `SCORING`: the mean of the samples' ratings, the expected
        rating under the tokens' probabilities, the only rating, the last rating of a chain of aspects that the
        model named or that people rated, or the mean of the aspects' ratings.
    source : str
        Section, appendix or page.
    note : str
        What the paper leaves open, and what is sent instead.
    aspects : int
        Relevant aspects that a chain rates before the target; 0 without a chain.
    sent : dict
        What is sent for parameters that the paper leaves open.
    estimate : (int, dict)
        Samples and sampling parameters that estimate the probabilities where a model gives none; empty where the
        scoring needs none.

    Examples
    --------
    >>> from nlgjudge.papers import geval
    >>> found = rows(geval.protocols.PROTOCOLS)["G-EVAL-4"]
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
    estimate: tuple = ()

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
    >>> rows(geval.protocols.PROTOCOLS, "table2")["G-EVAL-4"].samples
    20
    """
    found = {one.row: one for one in protocols if not artefact or artefact in one.artefacts}
    if not found:
        known = sorted({name for one in protocols for name in one.artefacts})
        raise KeyError(f"no model's row is printed in {artefact!r}; there are {', '.join(known)}")
    return found
