"""G-Eval's protocol (Liu et al. 2023): one entry for each printed row that a model produced.

Both printed versions, EMNLP and arXiv v1, state the same settings in section 3.1. Upstream's released script does
otherwise: temperature 2, at most five tokens, and the prompt as a system message.
"""

from nlgjudge.papers.protocol import Protocol, Scope, same

# Two printed versions of one set of experiments.
VERSIONS = {"geval": "G-Eval (EMNLP 2023)", "geval_v1": "G-Eval (arXiv v1)"}
GPT_35 = "GPT-3.5 (text-davinci-003)"
GPT_4 = "GPT-4"
# Section 3.1: GPT-3.5 gives token probabilities, so that one greedy request is enough.
GREEDY = {"temperature": 0, "logprobs": True}
# Section 3.1: GPT-4 gave none when the paper was written; twenty samples estimate them.
SAMPLED = {"temperature": 1, "top_p": 1}
# By dataset and row, the recording of its replies, for `nlgjudge.recording`; of other rows none was released.
RECORDED = {"summeval": {"G-EVAL-4": "geval/gpt-4"}}
_BOTH = ("table1", "table2", "table3")
_NO_PROBS = (
    "the paper does not say how the rating was taken without probabilities; one greedy reply is "
    "sent, the direct scoring of section 2"
)
_TABLE_3 = "Table 3 asks yes or no, by the prompt of appendix A (geval/hallucination/consistency)"

PROTOCOLS = (
    Protocol(
        _BOTH,
        "G-EVAL-3.5",
        GPT_35,
        "geval/{task}/{aspect}",
        1,
        GREEDY,
        "probabilities",
        "section 3.1",
        _TABLE_3,
        estimate=(20, SAMPLED),
    ),
    Protocol(
        ("table1",),
        "G-EVAL-3.5 - Probs",
        GPT_35,
        "geval/{task}/{aspect}",
        1,
        {"temperature": 0},
        "single",
        "section 4, the effect of probability normalization",
        _NO_PROBS,
    ),
    Protocol(
        _BOTH,
        "G-EVAL-4",
        GPT_4,
        "geval/{task}/{aspect}",
        20,
        SAMPLED,
        "mean",
        "section 3.1",
        _TABLE_3,
    ),
    Protocol(
        ("table1",),
        "G-EVAL-4 - Probs",
        GPT_4,
        "geval/{task}/{aspect}",
        1,
        {"temperature": None},
        "single",
        "section 4, the effect of probability normalization",
        _NO_PROBS,
        sent={"temperature": 0},
    ),
    Protocol(
        ("table1",),
        "G-EVAL-4 - CoT",
        GPT_4,
        "geval/{task}_no_steps/{aspect}",
        20,
        SAMPLED,
        "mean",
        "section 4, the effect of chain-of-thoughts",
    ),
    Protocol(
        ("table1",),
        "G-EVAL-4 - Description",
        GPT_4,
        "geval/{task}_score_only/{aspect}",
        20,
        SAMPLED,
        "mean",
        "section 4, the effect of chain-of-thoughts",
        "the simple prompt, which asks for a score from 1 to 5 without introduction, criteria and steps, is not "
        "printed; one in our own words is sent",
    ),
)

SCOPES = (
    Scope(
        ("table1",),
        "summeval",
        "summeval",
        "summarization",
        same("coherence", "consistency", "fluency", "relevance"),
        source="sections 3.2 and 3.4",
    ),
    Scope(
        ("table2",),
        "topical_chat",
        "topical_chat",
        "dialogue",
        same("naturalness", "coherence", "engagingness", "groundedness"),
        left_out=("Original Ground Truth",),
        source="section 3.5",
        note="the paper does not say which responses are judged; its other rows fit those without the original one",
    ),
    *(
        Scope(
            ("table3",),
            part,
            part,
            "hallucination",
            same("consistency"),
            reversed=True,
            source="section 3.6 and appendix A",
            note="the prompt asks for inconsistency, people rated consistency",
        )
        for part in ("qags_cnn", "qags_xsum")
    ),
)
