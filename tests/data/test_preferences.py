"""A rated benchmark asked in pairs."""

import dataclasses

import pytest

import nlgjudge as nj


@pytest.fixture(scope="module")
def chats():
    return nj.load("topical_chat", "sample")


def test_every_pair_is_shown_in_both_orders(chats):
    found = nj.data.pairs(chats, per_document=0)
    systems = chats.items["system_id"].nunique()
    per_document = systems * (systems - 1) // 2
    assert len(found.items) == 2 * per_document * chats.items["doc_id"].nunique()
    first, second = (found.items[found.items["item_id"].str.endswith(end)] for end in ("/1", "/2"))
    assert first["hypothesis"].tolist() == second["other"].tolist()
    assert first["other"].tolist() == second["hypothesis"].tolist()


def test_preferences_are_those_of_the_mean_ratings(chats):
    ratings = chats.human().set_index("item_id")["coherence"]
    texts = chats.items.set_index(["doc_id", "hypothesis"])["item_id"]
    found = nj.data.pairs(chats, per_document=0)
    preferred = found.human().set_index("item_id")["coherence"]
    for item in found.items.itertuples():
        shown, other = (ratings[texts[item.doc_id, text]] for text in (item.hypothesis, item.other))
        assert preferred[item.item_id] == (0.5 if shown == other else float(shown > other))


def test_a_draw_is_repeatable_and_limited(chats):
    first, again = (nj.data.pairs(chats, per_document=2, limit=3, seed=5) for _ in range(2))
    assert first.items.equals(again.items)
    assert first.items["doc_id"].nunique() == 3
    assert len(first.items) == 3 * 2 * 2
    assert not first.items.equals(nj.data.pairs(chats, per_document=2, limit=3, seed=6).items)


def test_a_judge_with_peoples_ratings_is_always_right(chats):
    found = nj.data.pairs(chats, per_document=0)
    scores = found.human().assign(judge=found.human()["coherence"])
    accuracy = nj.correlation(scores, "judge", "coherence", level="pair", coefficient="accuracy")
    assert accuracy.value == 1


def test_one_output_a_document_makes_no_pairs(chats):
    single = chats.items.drop_duplicates("doc_id")
    alone = dataclasses.replace(
        chats, items=single, ratings=chats.ratings.merge(single[["item_id"]])
    )
    with pytest.raises(ValueError, match="one output a document"):
        nj.data.pairs(alone)
