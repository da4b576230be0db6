"""Recorded replies: how many there are, and that their keys are the benchmarks'."""

import json

import pytest

from nlgjudge.data import fetch, recordings
from nlgjudge.data.fetch import DataUnavailable
from nlgjudge.data.recordings import RECORDINGS, recording
from nlgjudge.judging.prompts import prompt

ASPECTS = ("coherence", "consistency", "fluency", "relevance")
DIALOGUE = ("coherence", "engagingness", "groundedness", "naturalness")
# Items of 360 with 20 samples each, by aspect in the order above, as upstream's files hold them.
CLOSER_LOOK = {
    "geval": (359, 356, 357, 358),
    "geval_no_auto_cot": (355, 354, 357, 353),
    "rate_explain": (359, 359, 360, 358),
    "analyze_rate": (360, 360, 358, 360),
    "rate_explain_auto_cot": (358, 358, 356, 357),
    "analyze_rate_auto_cot": (354, 355, 355, 357),
    "llm_eval_no_cot": (356, 359, 353, 359),
}
JUDGES = ("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03")


@pytest.fixture
def recorded():
    """Read a recording; skip where its files cannot be had."""

    def read(*arguments, **options):
        try:
            return recording(*arguments, **options)
        except DataUnavailable as error:
            pytest.skip(f"needs the mirror or a network: {str(error).splitlines()[0]}")

    return read


@pytest.mark.parametrize("form", CLOSER_LOOK)
def test_closer_look_has_twenty_samples_of_each_recorded_item(real, recorded, form):
    items, files = real("topical_chat").items, {}
    frame = recorded(f"closer_look/{form}", items, files=files)
    assert list(frame) == ["item_id", "aspect", "sample_index", "text"]
    counts = frame.groupby("aspect")["item_id"].nunique().to_dict()
    assert counts == dict(zip(DIALOGUE, CLOSER_LOOK[form]))
    samples = frame.groupby(["item_id", "aspect"])["sample_index"].agg(list)
    assert (samples.map(lambda s: s == list(range(20)))).all()
    assert set(frame["item_id"]) <= set(items["item_id"])
    assert len(files) == 4 and all(name.endswith(f"_{form}.json") for name in files)
    assert frame["text"].map(type).eq(str).all()


@pytest.mark.parametrize("name", [name for name in RECORDINGS if name.startswith("llm_summeval")])
def test_llm_summeval_has_twelve_systems_on_a_hundred_documents(real, recorded, name):
    items = real("summeval").items.set_index("item_id")
    files = {}
    frame = recorded(name, files=files)
    assert len(frame) == 12 * 100 * 4 and len(files) == 12 * 4
    assert not frame.duplicated(["item_id", "aspect"]).any() and (frame["sample_index"] == 0).all()
    joined = items.loc[frame["item_id"].unique()]
    assert (joined["doc_id"].nunique(), joined["system_id"].nunique()) == (100, 12)
    assert frame["aspect"].value_counts().to_dict() == dict.fromkeys(ASPECTS, 1200)


@pytest.mark.parametrize("judge", JUDGES)
def test_alttest_has_a_score_of_every_item(real, recorded, judge):
    frame = recorded(f"alttest/{judge}")
    assert len(frame) == 1600 * 4 and not frame.duplicated(["item_id", "aspect"]).any()
    assert set(frame["item_id"]) == set(real("summeval").items["item_id"])
    assert frame["aspect"].value_counts().to_dict() == dict.fromkeys(ASPECTS, 1600)
    assert set(frame["text"]) == {"1", "2", "3", "4", "5"}


@pytest.mark.parametrize(
    "name, near",
    [
        ("", ""),
        ("alttest/gpt4o", "alttest/gpt-4o"),
        ("llm_sumeval/gpt-4/stars", "llm_summeval/gpt-"),
    ],
)
def test_unknown_names_list_the_known(name, near):
    with pytest.raises(KeyError) as caught:
        recording(name)
    said = caught.value.args[0]
    assert f"no recording {name!r}" in said and said.endswith(", ".join(RECORDINGS))
    assert f"did you mean '{near}" in said or not near


@pytest.mark.parametrize("form", CLOSER_LOOK)
def test_closer_look_asked_the_registered_prompts_to_the_letter(real, form):
    """Its files hold each prompt as it was sent, so what `recorded` states is read off, not believed."""
    items = {(i.source, i.context, i.system_id): i for i in real("topical_chat").items.itertuples()}
    held = recordings.recording_spec(f"closer_look/{form}")
    try:
        contents = [
            (e, json.loads(fetch.read(e)))
            for e in recordings.recording_files(f"closer_look/{form}")
        ]
        asked = {aspect: prompt(held.prompt.format(aspect=aspect)) for aspect in DIALOGUE}
    except DataUnavailable:
        pytest.skip("needs the mirror or a network")
    assert {aspect: found.scale for aspect, found in asked.items()} == held.scales
    for entry, rows in contents:
        (aspect,) = (a for a in DIALOGUE if f"gpt3.5_{a[:3]}_" in entry.path)
        for row in rows:
            item = items[row["source"], row["context"], row["system_id"]]
            fields = {"source": item.source, "hypothesis": item.hypothesis, "context": item.context}
            assert row["prompt"] == asked[aspect].render(fields)
            assert len(row["all_responses"]) == held.samples


def test_recordings_of_texts_need_the_items():
    with pytest.raises(ValueError, match="closer_look/geval names texts, not keys"):
        recording("closer_look/geval")


@pytest.fixture
def geval(tree):
    """Files in the layout of G-Eval's, which no mirror has, in a registry of their own."""

    def row(doc_id, system_id, *texts):
        return {"doc_id": doc_id, "system_id": system_id, "all_responses": texts}

    def add(path, *rows):
        return tree.add(path, json.dumps(rows).encode(), "summeval", role="recording")

    add("prompts/gpt4_coh_detailed.txt")
    first = (row("dm-1", "M0", "5", "4", ""), row("dm-1", "M1", "3"))
    return [
        add("results/gpt4_coh_detailed.json", *first),
        add("results/gpt4_rel_detailed.json", row("dm-2", "M0", "2")),
    ]


def test_geval_reads_all_samples_by_key(geval):
    files = {}
    assert recording("geval/gpt-4", files=files).values.tolist() == [
        ["dm-1/M0", "coherence", 0, "5"],
        ["dm-1/M0", "coherence", 1, "4"],
        ["dm-1/M0", "coherence", 2, ""],
        ["dm-1/M1", "coherence", 0, "3"],
        ["dm-2/M0", "relevance", 0, "2"],
    ]
    assert files == {entry.path: entry.blob for entry in geval}
    assert recordings.available("geval/gpt-4")


def test_a_file_that_cannot_be_had_is_named(geval, tree):
    (tree.cache / geval[1].location).unlink()
    with pytest.raises(DataUnavailable, match="gpt4_rel_detailed.json .* is unavailable"):
        recording("geval/gpt-4")
    assert not recordings.available("geval/gpt-4")
