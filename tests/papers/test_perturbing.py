"""DHP's perturbations: exactly so many edits, nothing else moved, the same texts everywhere."""

import random
import re
from collections import Counter

import pandas as pd
import pytest

import nlgjudge as nj
from nlgjudge.data.sample import documents
from nlgjudge.judging.tasks import Reply
from nlgjudge.papers.dhp import perturbing as p

TEXTS = [document["references"][0] for document in documents("summarization")]
DATASETS = nj.paper("dhp").method["tasks"]
SEEDS = range(10)


def kept_in_order(short, long):
    rest = iter(long)
    return all(c in rest for c in short)


@pytest.mark.parametrize("k", [1, 10, 50])
def test_deletions_take_k_alphanumerics_and_nothing_else(k):
    for text in TEXTS:
        for seed in SEEDS:
            short = p.delete_characters(text, k, random.Random(seed))
            gone = Counter(text) - Counter(short)
            assert gone.total() == k and all(c.isalnum() for c in gone)
            assert kept_in_order(short, text)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_each_typo_is_one_error_at_a_letter_of_its_own(k):
    """Letters apart from each other cannot hide one another's errors, so they can be counted."""
    letters = "q W e r t y u i o p"
    for seed in SEEDS:
        changed = p.add_typos(letters, k, random.Random(seed)).split(" ")
        pairs = zip(letters.split(" "), changed, strict=True)
        wrong = [(old, new) for old, new in pairs if old != new]
        assert len(wrong) == k
        assert all(new[-1:] == old and len(new) == 2 or len(new) == 1 for old, new in wrong)


def test_typos_leave_all_but_letters_and_digits_and_the_shared_generator():
    random.seed(3)
    state = random.getstate()
    for text in TEXTS:
        for seed in SEEDS:
            changed = p.add_typos(text, 50, random.Random(seed))
            others = [re.sub(r"[A-Za-z0-9]", "", t) for t in (text, changed)]
            assert sorted(others[0]) == sorted(others[1]) and abs(len(changed) - len(text)) <= 50
    assert random.getstate() == state


def test_a_typo_changes_the_text_even_among_equal_letters():
    assert all(p.add_typos("llll", 1, random.Random(s)) != "llll" for s in range(200))


@pytest.mark.parametrize("k", [5, 25])
def test_word_deletions_take_k_words_in_a_row(k):
    for text in TEXTS:
        words = text.split()
        for seed in SEEDS:
            short = p.delete_words(text, k, random.Random(seed)).split()
            assert any(words[:i] + words[i + k :] == short for i in range(len(words) - k + 1))


@pytest.mark.parametrize("k", [2, 0])
def test_reordering_moves_whole_sentences_and_is_never_the_identity(k):
    for text in TEXTS:
        before = [text[a:b] for a, b in p.sentences(text)]
        for seed in SEEDS:
            changed = p.reorder(text, k, random.Random(seed))
            after = [changed[a:b] for a, b in p.sentences(changed)]
            moved = sum(a != b for a, b in zip(before, after, strict=True))
            assert sorted(before) == sorted(after) and moved >= 2 and (k == 0 or moved == 2)
    assert p.reorder("Yes. Yes. No.", 0, random.Random(1)) != "Yes. Yes. No."


@pytest.mark.parametrize("name, k", [("fictional entities", 4), ("grammatical errors", 6)])
def test_stand_ins_change_k_words(name, k):
    for text in TEXTS:
        for seed in SEEDS:
            changed = p.EDITS[name](text, k, random.Random(seed))
            before, after = (re.findall(r"\w+|\W+", t) for t in (text, changed))
            assert sum(a != b for a, b in zip(before, after, strict=True)) == k


def test_entities_are_names_and_numbers_first():
    text = "The mayor met Ada Lovelace in Turin on 3 June."
    changed = {
        a
        for s in range(100)
        for a, b in zip(text.split(), p.invent_entities(text, 1, random.Random(s)).split())
        if a != b
    }
    assert changed == {"Ada", "Lovelace", "Turin", "3", "June."}
    invented = p.invent_entities("cells express actin", 1, random.Random(0))
    assert re.fullmatch("cells (?!express)[a-z]+ actin", invented)


def test_rewriting_repeats_a_sentence_right_after_itself():
    changed = {p.repeat_sentences("It rained. No.", 1, random.Random(s)) for s in range(50)}
    assert len(changed) == 6
    assert all(re.fullmatch(r"It rained\. (.*: It rained\. No|No\. .*: No)\.", t) for t in changed)


@pytest.mark.parametrize(
    "name, text, k, message",
    [
        ("deletions", "a b!", 3, "2 letters and digits, not 3"),
        ("typos", "a 1", 3, "room for 2 typos, not 3"),
        ("word deletions", "one two", 2, "2 words, not more than 2"),
        ("reordering", "Only one.", 2, "1 sentences, too few that differ to reorder 2"),
        ("reordering", "So. So.", 0, "2 sentences, too few that differ to reorder them"),
        ("fictional entities", "it is so", 1, "0 names, numbers or long words, not 1"),
        ("grammatical errors", "big dog", 1, "0 words to get wrong, not 1"),
        ("rewriting and insertion", "One. Two.", 3, "2 sentences, not 3"),
    ],
)
def test_a_text_that_is_too_short_is_left_out_with_the_reason(name, text, k, message):
    items = pd.DataFrame({"item_id": ["a"], "doc_id": ["a"], "hypothesis": [text]})
    made, left_out = nj.dhp.perturb(items, [(name, "", k)])
    assert made["hypothesis"].tolist() == [text]
    assert left_out.values.tolist() == [["a", name, message]]


def test_the_same_seed_gives_the_same_text_everywhere():
    """Written down once; another machine or Python that gives others has broken every stored reply."""
    text = "It closes the old bridge on 3 June. Walkers may cross, to be safe."
    numbers = zip(p.EDITS.items(), (5, 5, 4, 1, 2, 2, 1))
    assert {name: edit(text, k, random.Random("7/x/1")) for (name, edit), k in numbers} == GOLDEN


GOLDEN = {
    "deletions": "It closs the od bidge on 3 June. Wakers may ross, to be safe.",
    "typos": "It closes ths old bridge no 3 Jue. Wlkers may cross, to bd safe.",
    "word deletions": "It closes the June. Walkers may cross, to be safe.",
    "fictional entities": "It closes the old bridge on 4 June. Walkers may cross, to be safe.",
    "grammatical errors": "It close the old bridge into 3 June. Walkers may cross, to be safe.",
    "reordering": "Walkers may cross, to be safe. It closes the old bridge on 3 June.",
    "rewriting and insertion": "It closes the old bridge on 3 June. In other words: "
    "It closes the old bridge on 3 June. Walkers may cross, to be safe.",
}


def test_table_2_s_sizes():
    """DHP, Table 2 (page 14): k by dataset; 12, 6, 9 and 10 sets of perturbed texts (Table 1)."""
    plans = {d: {one.label: one.k for one in p.perturbations(d)} for d in DATASETS}
    assert [len(plan) for plan in plans.values()] == [12, 12, 6, 9, 10, 10]
    for dataset, name, sizes in [
        ("summeval", "typos", [10, 50]),
        ("summeval", "reordering", [2, 0]),
        ("sumpubmed", "deletions", [20, 100]),
        ("answer_equivalence", "typos", [5, 25]),
        ("wmt22_zh_en", "word deletions", [5, 25]),
    ]:
        assert [plans[dataset][f"{name}, {d}"] for d in ("minor", "major")] == sizes
    assert plans["story_cloze"]["typos"] == 5


@pytest.mark.parametrize(
    "plan, kinds, message",
    [
        ("bagel", None, "no benchmark that DHP perturbs 'bagel'; there are summeval"),
        ("summeval", ["typo, minor"], "of summeval 'typo, minor': did you mean 'typos, minor'"),
        ([("deletion", "", 5)], None, "no perturbation 'deletion': did you mean 'deletions'"),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused(plan, kinds, message):
    with pytest.raises(ValueError, match=message):
        nj.dhp.perturb(nj.load("summeval", "sample").items, plan, kinds=kinds)


@pytest.mark.parametrize("dataset", DATASETS)
def test_versions_of_a_dataset(dataset):
    items = nj.dhp.originals(nj.load(dataset, "sample"))
    made, left_out = nj.dhp.perturb(items, dataset, seed=3)
    copies = 1 + len(p.perturbations(dataset))
    assert made["item_id"].is_unique and len(made) + len(left_out) == len(items) * copies
    texts = made[made["perturbation"] == "original"].set_index("item_id")["hypothesis"]
    assert texts.tolist() == items["hypothesis"].tolist()
    perturbed = made[made["perturbation"] != "original"]
    assert (perturbed["hypothesis"] != perturbed["original"].map(texts)).all()
    again = nj.dhp.perturb(items.iloc[::-1], dataset, seed=3).items
    same = made.merge(again, on="item_id")
    edits = ~same["perturbation_x"].str.startswith("random")
    assert len(same) == len(made) and (same["hypothesis_x"] == same["hypothesis_y"])[edits].all()


def test_random_endings_come_from_another_story_and_wrong_ones_from_the_same():
    stories = nj.load("story_cloze", "sample")
    made = nj.dhp.perturb(nj.dhp.originals(stories), "story_cloze").items
    endings = stories.items.set_index(["doc_id", "system_id"])["hypothesis"]
    for row in made[made["perturbation"] == "wrong ending"].itertuples():
        assert row.hypothesis == endings[row.doc_id, "wrong_ending"]
    owner = {text: key for (key, kind), text in endings.items() if kind == "right_ending"}
    for row in made[made["perturbation"] == "random ending"].itertuples():
        assert owner[row.hypothesis] != row.doc_id


class Model:
    """Writes steps, then the text in capitals; of one text nothing, of another no change."""

    name = "model"

    def __init__(self):
        self.tasks = []

    def replies(self, tasks):
        for number, task in enumerate(tasks):
            self.tasks.append(task)
            text = task.fields.get("hypothesis", "1. Do it.")
            answers = ["", text, text.upper()] if "hypothesis" in task.fields else [text] * 3
            yield Reply(task.item_id, "", 0, answers[min(number, 2)])


@pytest.mark.parametrize("n, expected", [(5, 5), (100, 12), (0, 12), (None, 12)])
def test_n_originals_and_all_of_them_for_0(n, expected):
    """The sample has 12 articles."""
    assert len(nj.dhp.originals(nj.load("summeval", "sample"), n)) == expected


def test_a_model_takes_the_stand_ins_place():
    items, model = nj.dhp.originals(nj.load("summeval", "sample"), 5), Model()
    made, left_out = nj.dhp.perturb(items, "summeval", rewriter=model)
    assert set(made["origin"]) == {"original", "rule", "llm:model"}
    assert (made["origin"] == "llm:model").sum() == 6 * 3
    reasons = left_out["reason"].value_counts()
    assert reasons.to_dict() == {"an empty reply": 6, "nothing was changed": 6}
    steps = [task for task in model.tasks if task.item_id == "adjustment steps"]
    assert len(steps) == 5  # the sixth prompt is printed with its steps
    by_kind = {task.item_id.partition("#")[2]: task for task in model.tasks}
    printed = by_kind["fictional entities, minor"].text
    assert "substitute only one critical named entity within the summary" in printed
    other = by_kind["grammatical errors, major"]
    assert "1. Do it." in other.text and other.fields["hypothesis"] in other.text


def test_the_chosen_originals_of_the_real_data(real):
    """Appendix A; Table 2 prints 4.0 sentences for SummEval, 1.1 for zh-en and 3.8 for de-en."""
    chosen = nj.dhp.originals(real("summeval"))
    assert len(chosen) == 100 and (chosen["references"].map(len) <= 10).all()
    assert round(chosen["hypothesis"].map(lambda t: len(p.sentences(t))).mean(), 1) == 4.0
    for name, printed in (("wmt22_zh_en", 1.1), ("wmt22_de_en", 3.8)):
        chosen = nj.dhp.originals(real(name))
        assert len(chosen) == 100 and (chosen["hypothesis"].str.len() > 300).all()
        assert abs(chosen["hypothesis"].map(lambda t: len(p.sentences(t))).mean() - printed) < 0.2
    chosen = nj.dhp.originals(real("sumpubmed"))
    assert len(chosen) == 100 and not chosen["hypothesis"].str.contains("RESULTS|BACKGROUND").any()


def test_copies_that_are_made_already_are_taken_as_they_are(tmp_path):
    """A judge that sees typos and nothing else."""
    rows = [
        {"original": f"Text {n}.", "perturbed": f"Txet {n}. {kind}", "kind": kind, "source": "s"}
        for n in range(12)
        for kind in ("typos, minor", "reordering")
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "copies.csv", index=False)
    made, left_out = nj.dhp.perturb(tmp_path / "copies.csv", "summeval")
    counts = made["perturbation"].value_counts().to_dict()
    assert counts == {"original": 12, "typos, minor": 12, "reordering": 12}
    assert made.query("perturbation == 'typos, minor'")["level"].unique() == ["character"]
    assert left_out.empty
    scores = made.assign(aspect="fluency", score=5.0 - made["hypothesis"].str.contains("minor"))
    each = nj.dhp.discernment(scores).perturbations
    assert each.loc["typos, minor", "D"] > 1 > each.loc["reordering", "D"]
    with pytest.raises(ValueError, match="there is no kind"):
        nj.dhp.perturb(pd.DataFrame(rows).drop(columns="kind"), "summeval")
