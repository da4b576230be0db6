"""What a paper's `paper.toml` states, as objects: its versions, tables and figures, and how its rows came about."""

from typing import Any, Literal, NamedTuple

# How replies become an item's score: the mean of the samples' ratings, the expected rating under the tokens'
# probabilities, the only rating, the last rating of a chain of aspects that the model named or that people rated, the
# mean of the aspects' ratings, or the last of several steps.
Scoring = Literal[
    "mean",
    "probabilities",
    "single",
    "chain",
    "chain of rated aspects",
    "mean of aspects",
    "steps",
]


class Protocol(NamedTuple):
    """How a model was asked for the values of a printed row.

    Levels and coefficients are those of the row's printed cells; benchmark and aspects are those of its `Scope`.

    Examples
    --------
    >>> import nlgjudge as nj
    >>> protocol = nj.paper("geval").rows["G-EVAL-4"]
    >>> protocol.prompt, protocol.samples, protocol.parameters
    ('geval/{task}/{aspect}', 20, {'temperature': 1, 'top_p': 1})
    """

    artefacts: tuple[str, ...]  # tables and figures that print the row, as ("table1",)
    row: str  # its label, as printed
    model: str  # the paper's own name, with the version where one is stated
    prompt: str  # for nlgjudge.prompt, with {task} and {aspect}; empty where none is printed
    samples: int  # replies an item
    sampling: dict[str, Any]  # parameters as stated; None where the paper leaves one open
    scoring: Scoring
    source: str  # section, appendix or page
    note: str = ""  # what the paper leaves open, and what is sent instead
    aspects: int = 0  # that a chain rates before the target
    sent: dict[str, Any] = {}  # for parameters that the paper leaves open
    unread: Literal["left out", "0", "wrong"] = "left out"  # what a reply without a rating is
    policy: str = "nan"  # how its released replies are read, as for nlgjudge.judging.responses
    estimate: tuple = ()  # samples and parameters where a model gives no probabilities

    @property
    def parameters(self) -> dict[str, Any]:
        """Sampling parameters of a request: the paper's, and ours where it leaves one open."""
        stated = {name: value for name, value in self.sampling.items() if value is not None}
        return stated | self.sent


class Scope(NamedTuple):
    """What a printed table measures on one dataset: which items are judged, and against which ratings."""

    artefacts: tuple[str, ...]  # the tables, as ("table1", "table4")
    dataset: str  # as the tables' column has it
    benchmark: str  # for nlgjudge.load
    task: str  # fills {task} in the name of a row's prompt
    aspects: dict[
        str, tuple[str, str]
    ]  # as printed: the one asked for, and the one that people rated
    left_out: tuple[str, ...] = ()  # systems whose texts are not judged
    not_asked: dict[str, tuple[str, ...]] = {}  # by row, aspects with a dash
    reversed: bool = False  # whether the prompt asks for the opposite of what people rated
    constant: Literal["skip", "zero", "nan"] = "skip"  # a document with equal scores
    source: str = ""  # section or page
    note: str = ""  # what is found or chosen rather than stated

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
    """What cells need that nobody ran."""

    missing: str  # in a few words without names of files, for a verdict
    needs: str  # in full
    tables: tuple[str, ...] = ()  # that it covers; all where empty
    rows: tuple[str, ...] = ()  # beginnings of the rows' names that it covers; all where empty
    datasets: tuple[str, ...] = ()  # that it covers; all where empty

    def covers(self, table: str, row: str, dataset: str) -> bool:
        """Whether it says what a row of a table needs on a dataset."""
        here = not self.tables or table in self.tables
        return here and row.startswith(self.rows or "") and dataset in (self.datasets or [dataset])


class Paper(NamedTuple):
    """A paper, as its `paper.toml` describes it."""

    key: str  # name of its folder
    title: str  # that texts use
    versions: dict[str, Version]  # by the key of the published tables, as geval_v1
    artefacts: dict[str, Artefact]  # tables and figures by name, in reading order
    rows: dict[str, Protocol] = {}  # how each printed row of a model was asked, by label
    scopes: tuple[Scope, ...] = ()  # what its tables measure, a dataset each
    recorded: dict[str, dict[str, str]] = {}  # by dataset and row, the name of its recording
    copied: tuple[str, ...] = ()  # rows taken from another paper
    needs: tuple[Need, ...] = ()  # the first that covers a row counts
    method: dict[str, Any] = {}  # of the paper's own method, as its code and notebooks read it
    averages: dict[
        str, tuple[str, ...]
    ] = {}  # datasets, by the name under which their average is printed
    order: int = 1000  # its place in the ledger
