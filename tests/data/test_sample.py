"""The repository's own sample: its counts, the rubric by hand, a replacement for every benchmark."""

import pytest

from nlgjudge.data import benchmarks, sample
from nlgjudge.data.fetch import DataUnavailable

COUNTS = {
    "summarization": (12, 6),
    "dialogue": (10, 5),
    "story": (12, 4),
    "data_to_text": (20, 3),
    "question_answering": (12, 3),
    "translation": (12, 3),
}
# Items of each stand-in: documents x systems, a row a document for texts that DHP perturbs, and two
# for Story Cloze's endings and the news comparison.
PACKED = ("newsroom", "realsumm", "qags_cnn", "qags_xsum")
ITEMS = dict.fromkeys(("summeval", "summeval_crowd", "summeval_crowd_all", *PACKED), 72)
ITEMS |= {"bagel": 60, "openmeva": 48, "topical_chat": 50, "topical_chat_raters": 50, "news": 24}
ITEMS |= dict.fromkeys(("wmt22_de_en", "wmt22_zh_en", "sumpubmed"), 12)
ITEMS |= {"answer_equivalence": 36, "story_cloze": 24, "iwslt14": 36}
UNRATED = {"wmt22_de_en", "wmt22_zh_en", "sumpubmed"}
NOTICE = "sample data, not comparable with the papers"


@pytest.mark.parametrize("file", COUNTS)
def test_counts_keys_and_fields(file):
    documents = list(sample.documents(file))
    systems = [[o["system_id"] for o in d["outputs"]] for d in documents]
    assert (len(documents), len(systems[0])) == COUNTS[file]
    assert len({d["doc_id"] for d in documents}) == len(documents)
    assert all(sorted(s) == sorted(set(systems[0])) for s in systems)
    aspects = {tuple(o["defects"]) for d in documents for o in d["outputs"]}
    assert len(aspects) == 1  # the same aspects in the same order everywhere
    for document in documents:
        assert document["source"] and document["references"] and all(document["references"])
        assert all(o["hypothesis"].strip() for o in document["outputs"])
        texts = [o["hypothesis"] for o in document["outputs"]]
        assert len(set(texts)) == len(texts), document["doc_id"]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        # five points, four steps of one point: 5, 5 - 1, 5 - 2 ...; strict half a step more, lenient one less
        ((0,), {"plain": 5, "strict": 5, "lenient": 5}),
        ((1,), {"plain": 4, "strict": 3.5, "lenient": 5}),
        ((3,), {"plain": 2, "strict": 1.5, "lenient": 3}),
        ((4,), {"plain": 1, "strict": 1, "lenient": 2}),  # strict stays on the scale
        ((9,), {"plain": 1, "strict": 1, "lenient": 1}),
        ((1, 1, 6), {"plain": 4.75, "strict": 4.125, "lenient": 6}),  # 6 - 5/4, 6 - 5 * 1.5/4
        ((1, 1, 3, 2), {"plain": 2, "strict": 1.5, "lenient": 3}),  # 3 - 2/2, 3 - 2 * 1.5/2
        ((1, 0, 1, 1), {"plain": 0, "strict": 0, "lenient": 1}),
    ],
)
def test_rubric_by_hand(arguments, expected):
    assert sample.rate(*arguments) == expected


@pytest.mark.parametrize("name", ITEMS)
def test_stand_in_loads_with_its_notice_and_varies(name):
    made = benchmarks.load(name, source="sample")
    assert made.source == "sample" and made.is_sample and made.notice == NOTICE
    assert made.name == name and len(made.items) == ITEMS[name]
    assert bool(made.aspects) == (name not in UNRATED)
    human = made.human()
    if name == "news":  # only the writer's side has a rating, a preference
        assert len(made.ratings) == 2 * 12 and set(made.ratings["score"]) <= {0, 0.5, 1}
        return
    assert not human.isna().any(axis=None)
    for aspect in made.aspects:
        assert human[aspect].nunique() > 1, aspect


@pytest.mark.parametrize(
    "name", sorted(set(ITEMS) - {"answer_equivalence", "story_cloze", "iwslt14"})
)
def test_stand_in_has_the_real_aspects(name, real):
    """Notebooks name aspects; the sample must have the same ones."""
    assert sorted(benchmarks.load(name, "sample").aspects) == sorted(real(name).aspects)


def test_auto_falls_back_to_the_sample_and_real_does_not(monkeypatch, tmp_path):
    """Whatever this machine has: the cache is another, and empty."""
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path))
    assert benchmarks.load("openmeva").notice == NOTICE
    with pytest.raises(DataUnavailable, match="(?s)1. cache: no .*2. mirror: .*3. network: "):
        benchmarks.load("openmeva", source="real")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("no_such",), "no benchmark 'no_such'; there are summeval, "),
        (("sumeval",), "no benchmark 'sumeval': did you mean 'summeval'"),
        (("summeval", "fake"), "no source 'fake'; there are auto, real, sample"),
    ],
)
def test_unknown_names_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        benchmarks.load(*arguments)
