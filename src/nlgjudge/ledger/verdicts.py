"""The ledger's columns, and the words for what a cell is and what it rests on."""

from nlgjudge.ledger.printed import KEY

COLUMNS = [
    "paper", "artefact", *KEY, "published", "ours", "ci_low", "ci_high", "n", "n_skipped",
    "difference", "verdict", "evidence", "variant", "notebook", "note",
]
# What a notebook's part of the ledger has beside: whether a row's value comes from the sample.
PART_COLUMNS = [*COLUMNS, "sample"]
VERDICTS = ["exact", "close", "within_ci", "differs", "sign_flipped", "relabelled", "not_run"]
EVIDENCE = ["recomputed", "released_scores", "released_responses", "other_run", "rejudged", "substitute_judge",
            "third_party", "none"]
# Evidence from another model than the paper's.
ANOTHER_MODEL = ["substitute_judge", "rejudged"]
# The same metric, run by somebody else.
ANOTHER_RUN = "other_run"
# What somebody else computed from the paper's own scores or replies, and published.
THIRD_PARTY = "third_party"
# A cell with one of these is no reproduction, and none that failed.
OF_OTHERS = [ANOTHER_RUN, *ANOTHER_MODEL, THIRD_PARTY]
