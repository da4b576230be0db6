"""The repository's own sample: its counts, the rubric by hand, a replacement for every benchmark."""

import pytest

from nlgjudge.data import benchmarks, sample

COUNTS = {
    "summarization": (12, 6),
    "dialogue": (10, 5),
    "story": (12, 4),
    "data_to_text": (20, 3),
    "question_answering": (12, 3),
    "translation": (12, 3),
    "instructions": (6, 2),
}
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
        assert document["source"] and all(document["references"])
        assert document["references"] or file == "instructions"
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


# How many items of a benchmark's sample a document has, where it is another number than its systems.
ITEMS = dict.fromkeys(("wmt22_de_en", "wmt22_zh_en", "sumpubmed"), 1)
ITEMS |= dict.fromkeys(("news", "story_cloze"), 2)


@pytest.mark.parametrize("name", benchmarks.BENCHMARKS)
def test_every_benchmark_has_a_sample_with_its_notice_that_varies(name):
    benchmark = benchmarks.load(name, source="sample")
    assert benchmark.source == "sample" and benchmark.is_sample and benchmark.notice == NOTICE
    documents, systems = COUNTS[sample.task(name)]
    assert benchmark.name == name and len(benchmark.items) == documents * ITEMS.get(name, systems)
    human = benchmark.human()
    if name == "news":  # only the writer's side has a rating, a preference
        assert set(benchmark.ratings["score"]) <= {0, 0.5, 1}
        human = human.dropna()
        assert len(human) == documents
    assert not human.isna().any(axis=None)
    assert all(human[aspect].nunique() > 1 for aspect in benchmark.aspects)


@pytest.mark.parametrize("name", benchmarks.BENCHMARKS)
def test_the_sample_has_the_real_aspects(name, real):
    """Notebooks name aspects; the sample must have the same ones."""
    assert sorted(benchmarks.load(name, "sample").aspects) == sorted(real(name).aspects)


def test_a_wrong_row_of_the_rubric_is_named(tree, checkout):
    for path in (checkout / "data" / "sample").iterdir():
        copy = tree.root / "data" / "sample" / path.name
        copy.parent.mkdir(exist_ok=True)
        text = path.read_text(encoding="utf-8")
        copy.write_text(text.replace(",overall,overall,", ",overall,over,"))
    with pytest.raises(ValueError, match="story.jsonl 'over': did you mean 'overall'"):
        sample.read("openmeva")
    with pytest.raises(KeyError, match="rubric.csv has no row for no_such"):
        sample.read("no_such")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("no_such",), f"no benchmark 'no_such'; there are {', '.join(benchmarks.BENCHMARKS)}"),
        (("summeval", "fake"), "no source 'fake'; there are auto, real, sample"),
    ],
)
def test_unknown_names_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        benchmarks.load(*arguments)
