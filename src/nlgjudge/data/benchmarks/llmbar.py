"""LLMBar (Zeng et al. 2024): pairs of outputs, one of which follows the instruction; five sets, five case studies."""

import json

import pandas as pd

from nlgjudge.data.benchmarks import benchmark
from nlgjudge.data.preferences import both_orders
from nlgjudge.data.schema import ITEMS

ASPECT = "instruction_following"
# By name, the folder upstream, the number of pairs (Table 1 and appendix F), and what a set holds.
SETS = {
    "natural": ("LLMBar/Natural", 100, "from AlpacaFarm and LLMEval2"),
    "neighbor": ("LLMBar/Adversarial/Neighbor", 134, "one output answers a similar instruction"),
    "gptinst": ("LLMBar/Adversarial/GPTInst", 92, "one answers an instruction that GPT-4 wrote"),
    "gptout": ("LLMBar/Adversarial/GPTOut", 47, "one is GPT-4's, unhelpful on purpose"),
    "manual": ("LLMBar/Adversarial/Manual", 46, "written by the authors"),
    "constraint": ("CaseStudy/Constraint", 89, "lexical constraints"),
    "negation": ("CaseStudy/Negation", 59, "the instruction asks for an unhelpful output"),
    "normal": ("CaseStudy/Normal", 59, "negation's outputs under a plain instruction"),
    "base_9": ("CaseStudy/Base_9", 54, "additions in base 9"),
    "base_10": ("CaseStudy/Base_10", 54, "additions in base 10"),
}
FOLDERS = {folder: name for name, (folder, *_) in SETS.items()}
MAIN = list(SETS)[:5]  # those of the tables; the others are case studies


def _register(name, sets, about):
    paths = {part: f"/{SETS[part][0]}/dataset.json" for part in sets}
    number = sum(SETS[part][1] for part in sets)

    @benchmark(
        name,
        f"pairs of outputs, {about}; the authors say which follows the instruction",
        expect=(number, 2 * number),
        registered_as="llmbar",
        roles=(),
        paths=tuple(paths.values()),
    )
    def read(files):
        """Read the pairs in both orders."""
        rows = [
            (
                item_id(part, place),
                "order",
                row["input"],
                row["output_1"],
                row["output_2"],
                2.0 - row["label"],
            )
            for part, path in paths.items()
            for place, row in enumerate(json.loads(files.read(path)))
        ]
        columns = ["doc_id", "system_id", "source", "hypothesis", "other", "score"]
        table = pd.DataFrame(rows, columns=columns)
        table = table.assign(item_id=table["doc_id"], context="", aspect=ASPECT, rater="label")
        table["references"] = [[] for _ in rows]
        ratings = table[["item_id", "aspect", "rater", "score"]]
        return *both_orders(table[[*ITEMS, "other"]], ratings), ()


def item_id(part, place):
    """A pair's name: its set, and its place in the file."""
    return f"{part}/{place:03}"


_register("llmbar", MAIN, "LLMBar's Natural and Adversarial sets")
for _name, (*_, _about) in SETS.items():
    _register(f"llmbar_{_name}", [_name], f"LLMBar's {_name}: {_about}")
