"""What a paper's `paper.toml` states, as objects: its versions, tables and figures, and how its rows came about."""

from typing import Any, Literal, NamedTuple

Scoring = Literal[
    "mean", "probabilities", "single", "chain", "chain of rated aspects", "mean of aspects"
]


class Protocol(NamedTuple):
    """How a model was asked for the values of a printed row.

    Levels and coefficients are those of the row's printed cells; benchmark and aspects are those of its table's
    `Scope`.

    Attributes
    ----------
    artefacts
        Tables and figures that print the row, as ``("table1",)``.
    row
        Its label, as printed.
    model
        The paper's own name of the model, with the version where one is stated.
    prompt
        Name for `nlgjudge.prompt`, with ``{task}`` and ``{aspect}`` to be filled; empty where the paper prints no
        prompt for the row.
    samples
        Replies an item.
    sampling
        Sampling parameters as the paper states them; None where it leaves one open.
    scoring
        How replies become an item's score: the mean of the samples' ratings, the expected rating under the tokens'
        probabilities, the only rating, the last rating of a chain of aspects that the model named or that people
        rated, or the mean of the aspects' ratings.
    source
        Section, appendix or page.
    note
        What the paper leaves open, and what is sent instead.
    aspects
        Relevant aspects that a chain rates before the target; 0 without a chain.
    sent
        What is sent for parameters that the paper leaves open.
    estimate
        Samples and sampling parameters that estimate the probabilities where a model gives none.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> protocol = nj.paper("geval").rows["G-EVAL-4"]
    >>> protocol.prompt, protocol.samples, protocol.parameters
    ('geval/{task}/{aspect}', 20, {'temperature': 1, 'top_p': 1})
    """

    artefacts: tuple[str, ...]
    row: str
    model: str
    prompt: str
    samples: int
    sampling: dict[str, Any]
    scoring: Scoring
    source: str
    note: str = ""
    aspects: int = 0
    sent: dict[str, Any] = {}
    estimate: tuple = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Sampling parameters of a request: the paper's, and ours where it leaves one open."""
        stated = {name: value for name, value in self.sampling.items() if value is not None}
        return stated | self.sent


class Scope(NamedTuple):
    """What a printed table measures on one dataset: which items are judged, and against which ratings.

    Attributes
    ----------
    artefacts
        The tables, as ``("table1", "table4")``.
    dataset
        As the tables' column `dataset` has it.
    benchmark
        Name for `nlgjudge.load`.
    task
        Fills ``{task}`` in the name of a row's prompt.
    aspects
        By aspect as printed: the aspect that the prompt asks for, and the one that people rated.
    left_out
        Systems whose texts are not judged.
    not_asked
        By a row's label, aspects for which the paper did not ask and prints a dash.
    reversed
        Whether the prompt asks for the opposite of what people rated, as for a fault in the place of a quality.
    constant
        What a document counts as on which all scores are equal, at sample level.
    source, note
        Section or page, and what is found or chosen rather than stated.
    """

    artefacts: tuple[str, ...]
    dataset: str
    benchmark: str
    task: str
    aspects: dict[str, tuple[str, str]]
    left_out: tuple[str, ...] = ()
    not_asked: dict[str, tuple[str, ...]] = {}
    reversed: bool = False
    constant: Literal["skip", "zero", "nan"] = "skip"
    source: str = ""
    note: str = ""

    def aspects_of(self, row: str) -> dict[str, tuple[str, str]]:
        """Aspects that a row was asked for, as `aspects` has them."""
        without = self.not_asked.get(row, ())
        return {printed: pair for printed, pair in self.aspects.items() if printed not in without}


class Version(NamedTuple):
    """A published version of a paper: its title here, and addresses by where it was published."""

    title: str
    addresses: dict[str, str] = {}


class Artefact(NamedTuple):
    """A table or figure: what it shows, its notebook, and for one without correlations its status and needs."""

    what: str
    notebook: str
    status: str = ""
    needs: str = ""


class Need(NamedTuple):
    """What cells need that nobody ran, in full and for a verdict.

    Attributes
    ----------
    missing, needs
        A few words without names of files, and the full text.
    tables, rows
        The tables and the beginnings of the rows' names that it covers; all where empty.
    """

    missing: str
    needs: str
    tables: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    def covers(self, table: str, row: str) -> bool:
        """Whether it says what a row of a table needs."""
        return (not self.tables or table in self.tables) and row.startswith(self.rows or "")


class Paper(NamedTuple):
    """A paper, as its `paper.toml` describes it.

    Attributes
    ----------
    key, title
        Name of its folder, and the title that texts use.
    order
        Its place in the ledger; papers without one come last.
    versions
        By the key of the published tables, as ``geval_v1``.
    artefacts
        Its tables and figures by name, in reading order.
    rows
        How each printed row of a model was asked, by label.
    scopes
        What its tables measure, a dataset each.
    recorded
        By dataset and row, the name of its replies for `nlgjudge.recording`.
    copied
        Rows that the authors took from another paper, and asked no model for.
    needs
        What cells need that nobody ran; the first that covers a row counts.
    method
        Settings of the paper's own method, as its code and notebooks read them.
    """

    key: str
    title: str
    versions: dict[str, Version]
    artefacts: dict[str, Artefact]
    rows: dict[str, Protocol] = {}
    scopes: tuple[Scope, ...] = ()
    recorded: dict[str, dict[str, str]] = {}
    copied: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    method: dict[str, Any] = {}
    order: int = 1000
