"""Which recorded judges may stand beside which printed rows, by what their replies are and never by their results.

A recording stands for a row where it rates the same texts on the same aspects, without a reference if the row has
none, by as many replies as the row's label says: a single one, or twenty whose mean is taken, in the place of which
token probabilities stand, whose mean the twenty estimate.
"""

from typing import NamedTuple

_SINGLE = (
    ("geval", "G-EVAL-3.5 - Probs"),
    ("geval", "G-EVAL-4 - Probs"),
    ("chatgpt", "ChatGPT (Stars w/o ref)"),
    ("coascore", "LLMScore"),
)
_PROBABILITIES = (
    "ratings 1 to 5 weighed by their token probabilities, under a prompt that is not known to be "
    "G-Eval's, which asks for 1 to 3 in fluency (Sheng et al. 2025)"
)
_SCORES = (
    "one score each, without prompt and settings; a reply that could not be read was stored as 3"
)


class RecordedRows(NamedTuple):
    """A recorded judge, and the printed rows beside which it stands.

    Attributes
    ----------
    judge : str
        The model's name.
    recording : str
        Name for `nlgjudge.recording`.
    benchmark : str
        Name for `nlgjudge.load`.
    rows : tuple of (str, str)
        Paper and label.
    note : str
        What the replies are.
    replies : int
        How many of each item's replies are taken, from the first; 0 for all.
    """

    judge: str
    recording: str
    benchmark: str
    rows: tuple
    note: str
    replies: int = 0


RECORDED_ROWS = (
    RecordedRows(
        "gpt-3.5-turbo-0613",
        "closer_look/geval",
        "topical_chat",
        (("geval", "G-EVAL-3.5"), ("geval", "G-EVAL-4")),
        "twenty replies at temperature 1 to G-Eval's own prompts (Chiang and Lee 2023)",
    ),
    RecordedRows(
        "gpt-3.5-turbo-0613",
        "closer_look/geval_no_auto_cot",
        "topical_chat",
        (("coascore", "LLMScore"),),
        "the first of twenty replies at temperature 1 to G-Eval's prompts without steps, on the aspects that "
        "both have (Chiang and Lee 2023)",
        1,
    ),
    RecordedRows(
        "gpt-3.5-turbo-0613",
        "closer_look_summeval/geval",
        "summeval",
        (("geval", "G-EVAL-3.5"), ("geval", "G-EVAL-4")),
        "twenty replies at temperature 1 to G-Eval's own prompts (Chiang and Lee 2023)",
    ),
    RecordedRows(
        "gpt-3.5-turbo-0613",
        "closer_look_summeval/geval_no_auto_cot",
        "summeval",
        (("geval", "G-EVAL-4 - CoT"),),
        "twenty replies at temperature 1 to G-Eval's prompts without steps (Chiang and Lee 2023)",
    ),
    RecordedRows(
        "gpt-3.5-turbo-0301",
        "llm_summeval/gpt-3.5/stars",
        "summeval",
        _SINGLE,
        "one reply to a star prompt, on 12 of 16 systems (Shen et al. 2023)",
    ),
    RecordedRows(
        "gpt-4-0314",
        "llm_summeval/gpt-4/reason_then_score",
        "summeval",
        _SINGLE,
        "one reply that gives a reason before the score, on 12 of 16 systems (Shen et al. 2023)",
    ),
    *(
        RecordedRows(
            judge, f"alttest/{key}", "summeval", _SINGLE, f"{_SCORES} (Calderon et al. 2025)"
        )
        for judge, key in (
            ("gpt-4o", "gpt-4o"),
            ("gpt-4o-mini", "gpt-4o-mini"),
            ("gemini-flash", "gemini_flash"),
            ("gemini-pro", "gemini_pro"),
            ("llama-3.1", "llama-31"),
            ("mistral-v0.3", "mistral-v03"),
        )
    ),
    *(
        RecordedRows(
            f"{judge}-weighed",
            f"uncertainty/{judge}",
            "summeval",
            (("geval", "G-EVAL-3.5"), ("geval", "G-EVAL-4")),
            _PROBABILITIES,
        )
        for judge in ("gpt-4o-mini", "qwen2.5-72b", "deepseek-r1-32b")
    ),
)


def recorded_judges():
    """The recorded judges.

    Returns
    -------
    list of str

    Examples
    --------
    >>> recorded_judges()[:3]
    ['gpt-3.5-turbo-0613', 'gpt-3.5-turbo-0301', 'gpt-4-0314']
    """
    return list(dict.fromkeys(one.judge for one in RECORDED_ROWS))
