"""CoAScore's protocol (Gong and Mao 2023, sections 4.3 and 4.6): ChatGPT, temperature 0, one reply."""

from nlgjudge.papers.protocol import Protocol

MODEL = "ChatGPT (version not stated)"
SAMPLING = {"temperature": 0}
COUNTS = (5, 10, 20)  # relevant aspects, section 4.3
_OVERALL = ("table2",)
_ASPECTS = ("table3", "table4", "table12", "table13")


def _protocol(artefacts, row, prompt, scoring, source="section 4.3", note="", aspects=0):
    return Protocol(artefacts, row, MODEL, prompt, 1, SAMPLING, scoring, source, note, aspects)


PROTOCOLS = (
    _protocol((*_OVERALL, *_ASPECTS, "table5"), "LLMScore", "coascore/llmscore", "single"),
    _protocol(_OVERALL, "LLMScore_CoT", "coascore/llmscore", "single", "section 4.2",
              "the prompt is Table 8's with \"Let's think step by step:\" added; where is not printed"),
    *(_protocol((*_OVERALL, *_ASPECTS, "table5"), f"CoAScore(n={n})", "coascore/chain", "chain", aspects=n)
      for n in COUNTS),
    _protocol(("table5",), "CoAScore_inter", "coascore/chain", "chain", "section 4.6, Table 5",
              "the relevant aspects are the four others of the five that people rated", aspects=4),
    *(_protocol(("table6",), f"CoAScore (AC={n})", "coascore/chain", "chain", "section 4.6, Table 6",
                aspects=n) for n in COUNTS),
    *(_protocol(("table6",), f"CoAScore_average (AC={n})", "coascore/aspect_scores", "mean of aspects",
                "section 4.6, Table 6", aspects=n) for n in COUNTS),
)
