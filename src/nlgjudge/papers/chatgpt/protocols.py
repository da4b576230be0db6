"""The ChatGPT study's protocol (Wang et al. 2023): four prompts, one reply each, on a website.

Limitation 3 of the paper: there was no API yet, so that the replies come from the ChatGPT website at its default
temperature, between 24 and 27 February and 17 and 22 March 2023. The paper names no version of the model.
"""

from nlgjudge.papers.protocol import Protocol, Scope, same

VERSIONS = {"chatgpt": "Is ChatGPT a Good NLG Evaluator?"}
MODEL = "ChatGPT (website, February and March 2023)"
_TABLES = tuple(f"table{number}" for number in range(1, 8))
_NOTE = "asked on a website at its default temperature, which the paper does not name; 0 is sent"


def _protocol(row, prompt):
    return Protocol(
        artefacts=_TABLES,
        row=row,
        model=MODEL,
        prompt=f"chatgpt/{prompt}/{{task}}/{{aspect}}",
        samples=1,
        sampling={"temperature": None},
        scoring="single",
        source="section 3.1 and limitations",
        note=_NOTE,
        sent={"temperature": 0},
    )


PROTOCOLS = (
    _protocol("ChatGPT (DA w/o ref)", "da"),
    _protocol("ChatGPT (Stars w/o ref)", "stars"),
    _protocol("ChatGPT (DA w/ ref)", "da_ref"),
    _protocol("ChatGPT (Stars w/ ref)", "stars_ref"),
)

SCOPES = (
    Scope(
        ("table1", "table4"),
        "summeval",
        "summeval",
        "summarization",
        same("coherence", "relevance", "consistency", "fluency"),
        source="section 4.2",
    ),
    Scope(
        ("table2", "table5"),
        "newsroom",
        "newsroom",
        "newsroom",
        same("coherence", "relevance", "informativeness", "fluency"),
        source="section 4.2",
    ),
    Scope(
        ("table3",),
        "realsumm",
        "realsumm",
        "realsumm",
        same("pyramid_recall"),
        source="section 4.2",
        note="24 systems in the released file, 25 in the paper",
    ),
    Scope(("table6",), "openmeva", "openmeva", "story", same("overall"), source="section 4.4"),
    Scope(
        ("table7",),
        "bagel",
        "bagel",
        "data_to_text",
        same("informativeness", "naturalness", "quality"),
        not_asked={
            row: ("informativeness",) for row in ("ChatGPT (DA w/o ref)", "ChatGPT (Stars w/o ref)")
        },
        source="section 4.5",
        note="informativeness is defined by the reference, so it was not asked without one",
    ),
)
