"""The ChatGPT study's protocol (Wang et al. 2023): four prompts, one reply each, on a website.

Limitation 3 of the paper: there was no API yet, so that the replies come from the ChatGPT website at its default
temperature, between 24 and 27 February and 17 and 22 March 2023. The paper names no version of the model.
"""

from nlgjudge.papers.protocol import Protocol

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
