"""A Closer Look's protocol (Chiang and Lee 2023): one entry for each printed row that ChatGPT produced.

Section 2 and appendix C: the mean of 20 replies at temperature 1 and top-p 1. Appendix D: 5 replies at other
temperatures and with a persona before the prompt. Appendix C: Pearson over all items (its method 1), Kendall within
each document and then averaged (its method 2), by SciPy, so with tau-b. The released scripts leave out documents on
which all scores or all ratings are equal. Table 4 has Pearson by method 2 too.
"""

from nlgjudge.papers.protocol import Protocol, Scope, same

VERSIONS = {"closer_look": "A Closer Look"}
MODEL = "gpt-3.5-turbo-0613"
SAMPLED = {"temperature": 1, "top_p": 1}
# What upstream's two scripts count a reply without a rating as, by the script (`nlgjudge.judging.reading`).
UNREAD = {"all_eval.py": "first_digit_or_0", "meta_eval_summeval.py": "first_digit"}
# Every printed row of Topical-Chat follows from one script, and not from the same one: rows are by the second, and
# Table 3's row with auto CoT and an explanation by the first (notebook of Tables 2 to 4, appendix).
SCRIPT = {"auto CoT, rate-explain": "all_eval.py"}
# By dataset and row, the recording of its replies, for `nlgjudge.recording`; of other rows none is registered.
# Of Tables 5 and 6 the authors released the score alone without auto CoT only, where the printed rows say with.
RECORDED = {
    "topical_chat": {
        "auto CoT, score only": "closer_look/geval",
        "score only (3.1)": "closer_look/geval_no_auto_cot",
        "score only (3.2)": "closer_look/geval_no_auto_cot",
        "score only": "closer_look/geval_no_auto_cot",
        "free text": "closer_look/llm_eval_no_cot",
        "rate-explain": "closer_look/rate_explain",
        "auto CoT, rate-explain": "closer_look/rate_explain_auto_cot",
        "analyze-rate": "closer_look/analyze_rate",
    },
    "summeval": {
        "GPT-4, score only": "geval/gpt-4",
        "auto CoT, score only": "closer_look_summeval/geval",
        "score only (3.1)": "closer_look_summeval/geval_no_auto_cot",
        "score only (3.2)": "closer_look_summeval/geval_no_auto_cot",
        "free text": "closer_look_summeval/free_text_no_auto_cot",
        "rate-explain": "closer_look_summeval/rate_explain",
        "analyze-rate": "closer_look_summeval/analyze_rate",
        "T = 1.0, auto CoT, score only": "closer_look_summeval/geval",
        "T = 1.0, rate-explain": "closer_look_summeval/rate_explain",
        "T = 1.0, analyze-rate": "closer_look_summeval/analyze_rate",
    },
}
_SHORT = {
    "auto CoT, score only": "geval_no_auto_cot",
    "rate-explain": "rate_explain",
    "analyze-rate": "analyze_rate",
}
for _row, _form in _SHORT.items():
    for _named, _ending in (
        ("T = 0.3", "0.3"),
        ("T = 0.7", "0.7"),
        ("human annotator", "human"),
        ("HHH", "hhh"),
    ):
        RECORDED["summeval"][f"{_named}, {_row}"] = f"closer_look_summeval/{_form}_{_ending}"
# Rows that the authors took from G-Eval, and asked no model for.
COPIED = ("GPT-4, score only", "GPT-4, auto CoT, score only")
_TOP_P = "top-p is stated for the twenty replies of the other tables and taken to be the same"


def _protocol(row, artefacts, prompt, source, *, samples=20, sampling=SAMPLED, note=""):
    return Protocol(
        artefacts=artefacts,
        row=row,
        model=MODEL,
        prompt=f"closer_look/{prompt}/{{task}}/{{aspect}}",
        samples=samples,
        sampling=sampling,
        scoring="mean",
        source=source,
        note=note,
    )


def _few(row, artefact, prompt, temperature, source, note=_TOP_P):
    """Rows of appendix D, with five replies."""
    sampling = {"temperature": temperature, "top_p": 1}
    return _protocol(row, (artefact,), prompt, source, samples=5, sampling=sampling, note=note)


_THREE = {
    "auto CoT, score only": "auto_cot_score_only",
    "rate-explain": "rate_explain",
    "analyze-rate": "analyze_rate",
}
_PERSONAS = {"human annotator": "human", "HHH": "hhh"}
_MAIN = ("table1", "table2", "table4")

PROTOCOLS = (
    _protocol("auto CoT, score only", _MAIN, "auto_cot_score_only", "section 3.1"),
    _protocol("score only (3.1)", _MAIN, "score_only", "section 3.1"),
    _protocol("score only (3.2)", _MAIN, "score_only", "section 3.2"),
    _protocol("score only", ("table3",), "score_only", "appendix B.1"),
    _protocol("free text", _MAIN, "free_text", "section 3.2"),
    _protocol("rate-explain", (*_MAIN, "table3"), "rate_explain", "section 3.2"),
    _protocol("auto CoT, rate-explain", ("table3",), "auto_cot_rate_explain", "appendix B.1"),
    _protocol("analyze-rate", _MAIN, "analyze_rate", "section 3.2"),
    *(
        _few(
            f"T = {temperature}, {row}",
            "table5",
            prompt,
            temperature,
            "section 3.4.1 and appendix D",
        )
        for temperature in (0.3, 0.7)
        for row, prompt in _THREE.items()
    ),
    *(
        _protocol(
            f"T = 1.0, {row}",
            ("table5",),
            prompt,
            "section 3.4.1 and Table 5(c)",
            note="Table 5 says that these are the results of Table 1, so of twenty replies",
        )
        for row, prompt in _THREE.items()
    ),
    *(
        _few(
            f"{persona}, {row}",
            "table6",
            f"{name}_{prompt}",
            1,
            "section 3.4.2 and appendix D",
            "the temperature is not stated and taken to be that of the other tables; so is top-p",
        )
        for persona, name in _PERSONAS.items()
        for row, prompt in _THREE.items()
    ),
)

SCOPES = (
    Scope(
        ("table1", "table5", "table6"),
        "summeval",
        "summeval",
        "summarization",
        same("coherence", "consistency", "fluency", "relevance"),
        source="appendices C and E.1",
    ),
    Scope(
        ("table2", "table3", "table4"),
        "topical_chat",
        "topical_chat",
        "dialogue",
        same("naturalness", "coherence", "engagingness", "groundedness"),
        source="appendices C and E.2",
        note="all 360 responses, the original one of each dialogue among them",
    ),
)
