"""How every recorded reply is read: the number of replies, the count for each reason, a digest of all scores.

Whoever changes how replies are read sees here which recordings it touches.
"""

import hashlib

import pytest

import nlgjudge as nj
from nlgjudge.data.recordings import recording_spec

# recording: replies, replies without a score by reason, digest of the scores in order
READINGS = {
    "closer_look/geval": (
        28600,
        {"no_rating": 15, "out_of_range": 1, "refusal": 1},
        "9c8ad7015a5ff63a",
    ),
    "closer_look/geval_no_auto_cot": (28380, {"no_rating": 19, "ambiguous": 1}, "bcb2513fe39e1cf4"),
    "closer_look/rate_explain": (28720, {"ambiguous": 9, "no_rating": 5}, "0c27a231303517e2"),
    "closer_look/analyze_rate": (
        28760,
        {"no_rating": 91, "ambiguous": 4, "refusal": 2},
        "ba821bd50d6bb330",
    ),
    "closer_look/llm_eval_no_cot": (
        28540,
        {"no_rating": 113, "ambiguous": 2, "out_of_range": 1},
        "49dacd43ed281ed2",
    ),
    "closer_look/rate_explain_auto_cot": (28580, {"no_rating": 5}, "814332d4f25135ab"),
    "closer_look/analyze_rate_auto_cot": (
        28420,
        {"no_rating": 228, "refusal": 2},
        "cb0c4b15fcef08b1",
    ),
    "llm_summeval/gpt-3.5/stars": (4800, {}, "ccc60369dd0564f2"),
    "llm_summeval/gpt-3.5/reason_then_score": (4800, {}, "3919d4c1054e702b"),
    "llm_summeval/gpt-4/reason_then_score": (4800, {"no_rating": 2}, "da10f2ab577f1489"),
    "uncertainty/gpt-4o-mini": (6400, {"empty": 35}, "2206e488f853b7e5"),
    "uncertainty/qwen2.5-72b": (6400, {}, "d5b064aa11b88052"),
    "uncertainty/deepseek-r1-32b": (6400, {}, "770041d6589766cf"),
    "uncertainty_prompts/gpt-4o-mini": (32000, {"empty": 219}, "aa6ee820b398898f"),
    "uncertainty_prompts/gpt-4o": (16000, {"empty": 436}, "116aace8a36febcc"),
    "alttest/gemini_flash": (6400, {}, "7f775d4123f69f82"),
    "alttest/gemini_pro": (6400, {}, "2081d3771cf78f1b"),
    "alttest/gpt-4o": (6400, {}, "55ef6f1f7a76ff85"),
    "alttest/gpt-4o-mini": (6400, {}, "39182f32d58f19a7"),
    "alttest/llama-31": (6400, {}, "90962f34e7fcb50b"),
    "alttest/mistral-v03": (6400, {}, "8d3932b49b99c063"),
}


@pytest.mark.parametrize("name", READINGS)
def test_readings_of_a_recording(name, real):
    found = nj.judging.responses(name, items=real(recording_spec(name).benchmark).items)
    counts = found.loc[found["score"].isna(), "reason"].value_counts().to_dict()
    written = "\n".join(f"{score:.10f}" for score in found["score"])
    digest = hashlib.sha256(written.encode()).hexdigest()[:16]
    assert (len(found), counts, digest) == READINGS[name]
