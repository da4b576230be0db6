"""Nine sets of the alternative annotator test (Calderon et al. 2025): answers of several raters and of six judges.

Labels are categories without an order, those that judges alone give too. Texts are not read. A set that pools questions
has them as aspects.
"""

import json
from itertools import chain
from typing import NamedTuple

from nlgjudge.data.benchmarks import benchmark
from nlgjudge.data.scale import scale_of

JUDGES = {
    "gemini_flash": "Gemini-Flash",
    "gemini_pro": "Gemini-Pro",
    "gpt-4o": "GPT-4o",
    "gpt-4o-mini": "GPT-4o-mini",
    "llama-31": "Llama-3.1",
    "mistral-v03": "Mistral-v3",
}
_QUESTIONS = (
    "inclusiveness sensitivity validation mental personal networks resources safety authenticity "
    "completeness"
)
LGBTEEN = {f"Q{place}": name for place, name in enumerate(_QUESTIONS.split(), 1)}
LESION = {name.capitalize(): name for name in ("asymmetry", "blue", "border", "color", "dermo")}


class Set(NamedTuple):
    """A set: its folder, documents and items, its raters' margin, whether it has labels, its questions.

    `aspects` rename the file's questions; () keeps their names, None is a single question.
    """

    folder: str
    expect: tuple[int, int]
    epsilon: float
    labels: bool
    aspects: dict[str, str] | tuple[()] | None
    about: str


SETS = {
    "wax": Set("wax", (246, 246), 0.1, True, None, "relations between two words"),
    "lgbteen": Set(
        "lgbteen", (22, 88), 0.2, True, LGBTEEN, "ten questions about replies to teenagers"
    ),
    "mt_bench": Set("mtbench", (42, 120), 0.2, True, None, "preferences between two replies"),
    "framing": Set("framing", (116, 116), 0.15, True, (), "22 questions about news on the climate"),
    "cebab_aspects": Set(
        "cebab_aspects", (940, 940), 0.1, True, (), "sentiment of four aspects of a restaurant"
    ),
    "summeval": Set("summeval", (100, 1600), 0.2, False, (), "four aspects of summaries"),
    "10k_prompts": Set("10k_prompts", (1698, 1698), 0.15, False, None, "quality of prompts"),
    "cebab_stars": Set("cebab_stars", (711, 711), 0.1, False, None, "stars of a restaurant"),
    "lesion": Set("lesion", (100, 100), 0.15, False, LESION, "five features of skin lesions"),
}


def _register(name, of):
    paths = tuple(f"data/{of.folder}/{kind}_annotations.json" for kind in ("human", "llm"))

    @benchmark(
        f"alttest_{name}",
        f"{of.about}, with the answers of six judges",
        expect=of.expect,
        registered_as="summeval" if name == "summeval" else "alttest",
        roles=(),
        paths=paths,
    )
    def read(files):
        """Read raters and judges, whose files have one layout."""
        people, judges = (json.loads(files.read(path)) for path in paths)
        judges = {JUDGES[judge]: answers for judge, answers in judges.items()}
        place = {key: _place(key, of.aspects) for answers in people.values() for key in answers}
        answers = [part.values() for who in (people, judges) for part in who.values()]
        scales, codes = {}, {}
        if of.labels:
            scale = scale_of({*chain.from_iterable(answers)})
            scales = dict.fromkeys((aspect for *_, aspect in place.values()), scale)
            codes = dict(zip(scale.names, scale.values))
        ratings = [
            (f"{place[key][0]}/{place[key][1]}", place[key][2], who, codes.get(answer, answer))
            for who, answers in people.items()
            for key, answer in answers.items()
        ]
        scores = [
            (f"{place[key][0]}/{place[key][1]}", who, place[key][2], codes.get(answer, answer))
            for who, answers in judges.items()
            for key, answer in answers.items()
        ]
        keys = dict.fromkeys((document, system) for document, system, _ in place.values())
        items = [(None, document, system, "", "", [], "") for document, system in keys]
        return items, ratings, [(*row, "", "released_scores") for row in scores], scales


def _place(key, aspects):
    """Document, system and aspect of an item's key."""
    if aspects is None:
        document, _, system = key.partition("__")
        return (
            (document, system, "overall") if system.count("__") == 2 else (key, "text", "overall")
        )
    rest, _, aspect = key.rpartition("__")
    document, _, system = rest.partition("__")
    return document, system or "text", aspects[aspect] if aspects else aspect


for _name, _of in SETS.items():
    _register(_name, _of)
