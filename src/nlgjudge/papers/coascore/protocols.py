"""CoAScore's protocol (Gong and Mao 2023, sections 4.3 and 4.6): ChatGPT, temperature 0, one reply."""

from nlgjudge.papers.protocol import Protocol, Scope, same

MODEL = "ChatGPT (version not stated)"
SAMPLING = {"temperature": 0}
COUNTS = (5, 10, 20)  # relevant aspects, section 4.3
VERSIONS = {"coascore": "CoAScore"}
_OVERALL = ("table2",)
_ASPECTS = ("table3", "table4", "table12", "table13")


def _protocol(artefacts, row, prompt, scoring, source="section 4.3", note="", aspects=0):
    return Protocol(artefacts, row, MODEL, prompt, 1, SAMPLING, scoring, source, note, aspects)


PROTOCOLS = (
    _protocol(
        (*_OVERALL, *_ASPECTS, "table5"), "LLMScore", "coascore/llmscore/{task}/{aspect}", "single"
    ),
    _protocol(
        _OVERALL,
        "LLMScore_CoT",
        "coascore/llmscore_cot/{task}/{aspect}",
        "single",
        "section 4.2",
        "the prompt is Table 8's with \"Let's think step by step:\" added; where is not printed",
    ),
    *(
        _protocol(
            (*_OVERALL, *_ASPECTS, "table5"),
            f"CoAScore(n={n})",
            "coascore/chain",
            "chain",
            aspects=n,
        )
        for n in COUNTS
    ),
    _protocol(
        ("table5",),
        "CoAScore_inter",
        "coascore/chain",
        "chain of rated aspects",
        "section 4.6, Table 5",
        "the relevant aspects are the four others of the five that people rated",
        aspects=4,
    ),
    *(
        _protocol(
            ("table6",),
            f"CoAScore (AC={n})",
            "coascore/chain",
            "chain",
            "section 4.6, Table 6",
            aspects=n,
        )
        for n in COUNTS
    ),
    *(
        _protocol(
            ("table6",),
            f"CoAScore_average (AC={n})",
            "coascore/aspect_scores",
            "mean of aspects",
            "section 4.6, Table 6",
            aspects=n,
        )
        for n in COUNTS
    ),
)

_WITHOUT_ORIGINAL = ("Original Ground Truth",)
_RESPONSES = "the paper does not say which responses are judged; its other rows fit those without the original one"

# Tables 2, 4, 5 and 13 speak of Interest and Context where the benchmark has engagingness and coherence.
_DIALOGUE = same("naturalness", "understandability") | {
    "interest": ("engagingness", "engagingness"),
    "context": ("coherence", "coherence"),
}
_OVERALL_QUALITY = same("overall")

SCOPES = (
    Scope(
        ("table2", "table6"),
        "openmeva",
        "openmeva",
        "story",
        _OVERALL_QUALITY,
        source="sections 4.1 and 4.6",
    ),
    Scope(
        ("table2",),
        "bagel",
        "bagel",
        "data_to_text",
        {"overall": ("quality", "quality")},
        source="section 4.1",
        note="BAGEL has no overall rating; the other rows fit its quality",
    ),
    Scope(("table2",), "iwslt14", "iwslt14", "translation", _OVERALL_QUALITY, source="section 4.1"),
    Scope(
        ("table2",),
        "topical_chat",
        "topical_chat",
        "dialogue",
        _OVERALL_QUALITY,
        _WITHOUT_ORIGINAL,
        source="section 4.1",
        note=_RESPONSES,
    ),
    Scope(
        ("table3", "table12"),
        "summeval",
        "summeval",
        "summarization",
        same("coherence", "consistency", "fluency", "relevance"),
        source="section 4.1",
    ),
    Scope(
        ("table4", "table13"),
        "topical_chat",
        "topical_chat",
        "dialogue",
        _DIALOGUE,
        _WITHOUT_ORIGINAL,
        source="section 4.1",
        note=_RESPONSES,
    ),
    Scope(
        ("table5",),
        "topical_chat",
        "topical_chat",
        "dialogue",
        _DIALOGUE | _OVERALL_QUALITY,
        _WITHOUT_ORIGINAL,
        source="section 4.6",
        note=_RESPONSES,
    ),
)
