"""An ablation: planted truth is found, each change is what is asked, and nothing is asked before the plan."""

import json
import re
import warnings

import nbformat
import numpy as np
import pandas as pd
import pytest

import nlgjudge as nj
from loopback import completion
from nlgjudge.data.paths import SAMPLE_NOTICE, root
from nlgjudge.data.schema import build
from nlgjudge.judging.judge import Jury
from nlgjudge.judging.tasks import Reply
from nlgjudge.notebook.setups import SETUP

TEMPLATE = nbformat.read(root() / "notebooks" / "template_ablation.ipynb", as_version=4)
TEXT = "\n".join(cell.source for cell in TEMPLATE.cells if cell.cell_type == "markdown")
CHANGES = re.findall(r"^\|[^|]+\| `(\{.*\})` \|$", TEXT, re.M)
PROMPT = {"prompt": "geval/dialogue/{aspect}"}
SURFACE = {"judge": "surface", **PROMPT}
SERVED = {"judge": "openai:m", **PROMPT}
COHERENCE = ["coherence"]


@pytest.fixture(scope="module")
def chats():
    return nj.load("topical_chat", "sample")


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """A store of replies and a folder of results for each test."""
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))


@pytest.fixture
def served(serve):
    """A model that rates by the length of what it is asked, within every scale of the prompts."""

    def answer(_, __, body):
        asked = json.loads(body)
        text = asked["messages"][-1]["content"]
        rating = len(text) % 2 if "Groundedness (0-1)" in text else 1 + len(text) % 3
        return completion([str(rating)] * asked.get("n", 1))

    return serve(answer)


def compared(benchmark, base, change, aspects=COHERENCE, **how):
    return nj.ablation(benchmark, base, change, aspects, **{"permutations": 99} | how)


def bodies(server):
    return [json.loads(body) for body in server.requests]


class Says:
    """A judge that gives these replies to every response."""

    def __init__(self, *texts, name="says"):
        self.texts, self.name = texts, name

    def replies(self, tasks):
        for task in tasks:
            for index in range(task.n):
                yield Reply(task.item_id, task.aspect, index, self.texts[index])


def test_the_template_offers_every_entry_of_a_set_up():
    entries = {entry for change in CHANGES for entry in eval(change)}
    assert entries == set(SETUP)


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_the_template_runs_and_is_named(change, chats, served):
    change = eval(change)
    base = SURFACE | {"samples": 2 if "samples" in change else 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compared(chats, base, change, ["coherence", "engagingness"])
        asked = found.table is None
        found.ask()
    assert asked == bool(served.requests) == (change.get("judge") == "openai:MODEL")
    named = set(re.findall(r"(?:^|, | and )(\w+) ", found.change)) & set(SETUP)
    assert named == set(change)
    numbers = found.table[["base", "variant", "difference", "p_items", "p_systems"]]
    assert numbers.notna().all(axis=None) and list(found.table.index) == found.aspects
    assert (found.table["holm_items"] >= found.table["p_items"]).all()


def test_planted_truth_is_found_and_the_sign_follows_the_roles(chats):
    """A function that knows people's mean rating up to a known error, against one that is random."""
    human = chats.human().set_index("item_id")["coherence"]
    rng = np.random.default_rng(0)
    knows = human + pd.Series(rng.normal(0, 0.1, len(human)), human.index)
    random = pd.Series(rng.normal(0, 1, len(human)), human.index)
    good, bad = ({"judge": lambda item, r=r: r[item.item_id]} for r in (knows, random))
    lost = compared(chats, good, bad).table.loc["coherence"]
    base, variant = (ratings.rank().corr(human.rank()) for ratings in (knows, random))
    assert base > 0.75
    assert lost["base"] == pytest.approx(base)
    assert lost["variant"] == pytest.approx(variant)
    assert lost["difference"] == pytest.approx(variant - base)
    assert lost["difference_high"] < 0 and lost["p_items"] == 0.01
    won = compared(chats, bad, good).table.loc["coherence"]
    assert won["difference"] == pytest.approx(-lost["difference"])


def test_both_correlations_are_over_the_items_with_both_scores(chats):
    """The variant rates nothing of five systems' first dialogues; the base's correlation leaves these out too."""
    human = chats.human().set_index("item_id")["coherence"]
    dropped = list(human.index[::7])
    base = {"judge": lambda item: len(item.hypothesis)}
    variant = {"judge": lambda item: None if item.item_id in dropped else len(item.context)}
    found = compared(chats, base, variant)
    lengths = chats.items.set_index("item_id")["hypothesis"].str.len().drop(dropped)
    assert found.table.loc["coherence", "n"] == len(human) - len(dropped)
    expected = lengths.rank().corr(human.drop(dropped).rank())
    assert found.table.loc["coherence", "base"] == pytest.approx(expected)
    assert found.table.loc["coherence", "variant_unread"] == len(dropped) / len(human)
    assert found.table.loc["coherence", "base_unread"] == 0


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"aggregation": "median"}, 1),
        ({"aggregation": "mode"}, 1),
        ({"samples": 3}, 5 / 3),
        ({"policy": "store_3", "samples": 4}, 2),  # of "a text"
    ],
)
def test_what_becomes_of_replies_by_hand(change, expected, chats):
    base = {"judge": Says("1", "1", "3", "a text"), "samples": 4}
    found = compared(chats, base, change)
    assert set(found.scores["base:coherence"]) == {5 / 3}
    assert found.scores["variant:coherence"].tolist() == pytest.approx([expected] * 50)
    assert "no correlation can be compared" in found.answer


def test_a_jury_counts_each_judge_once(chats):
    """(1 + 1 + 3) / 3 of one judge and 5 of the other; their modes are 1 and 5."""
    jury = Jury([nj.get_judge(Says("1", "1", "3")), nj.get_judge(Says("5", "5", "5", name="kind"))])
    found = compared(chats, {"judge": jury, "samples": 3}, {"aggregation": "mode"})
    assert set(found.scores["base:coherence"].round(9)) == {round((5 / 3 + 5) / 2, 9)}
    assert set(found.scores["variant:coherence"]) == {3}


def test_an_average_is_the_mean_of_its_aspects_for_every_aspect(chats):
    ratings = {"coherence": 1, "engagingness": 2, "naturalness": 4}
    base = {"judge": lambda item: ratings[item.aspect] * len(item.hypothesis)}
    change = {"average": ["engagingness", "naturalness"]}
    found = compared(chats, base, change, ["coherence", "engagingness"])
    lengths = chats.items["hypothesis"].str.len()
    assert found.scores["base:engagingness"].tolist() == (2 * lengths).tolist()
    for aspect in found.aspects:
        assert found.scores[f"variant:{aspect}"].tolist() == (3 * lengths).tolist()


@pytest.mark.parametrize(
    "change, differs",
    [
        ({"options": {"temperature": 0}}, lambda body: body | {"temperature": 0}),
        (
            {"words": {"carefully": "with care"}},
            lambda body: json.loads(json.dumps(body).replace("carefully", "with care")),
        ),
    ],
)
def test_a_change_is_all_that_differs_in_what_is_sent(change, differs, chats, served):
    compared(chats, SERVED, change, limit=2).ask()
    sent = sorted(bodies(served), key=json.dumps)
    base = [body for body in sent if differs(body) in sent and differs(body) != body]
    assert len(sent) == 20 and len(base) == 10


def test_a_server_is_planned_then_asked_once(chats, served):
    found = compared(chats, SERVED, {"samples": 2}, limit=3, price=[2.0, 10.0])
    assert found.table is None and not served.requests
    # Three dialogues of five responses. The variant asks for the one sample more that each lacks.
    assert found.plan["calls"].tolist() == [15, 15]
    assert found.plan["cached"].tolist() == [0, 15] and found.plan["samples"].tolist() == [15, 30]
    cost = (found.plan["prompt_tokens"] * 2 + found.plan["completion_tokens"] * 10) / 1e6
    assert found.plan["cost"].tolist() == pytest.approx(cost.tolist())
    said = f"{SAMPLE_NOTICE}. Nothing was asked yet (samples 2 in place of 1): 30 calls, cost {cost.sum():.4f}."
    assert found.answer.startswith(said) and said in repr(found) and said in found._repr_html_()
    assert found.ask() is found and len(served.requests) == found.plan["calls"].sum()
    table = found.table
    found.ask()
    again = compared(chats, SERVED, {"samples": 2}, limit=3)  # asked at once, for all is stored
    assert len(served.requests) == 30 and again.plan["calls"].sum() == 0
    pd.testing.assert_frame_equal(found.table, table)
    same = ["base", "variant", "difference", "p_items", "n"]
    pd.testing.assert_frame_equal(again.table[same], table[same])
    assert "spent by these judges" in repr(found) and "cost: base, variant" in repr(found)


def test_a_budget_is_of_both_and_its_end_is_said(chats, served):
    """A call costs 10 prompt and 2 completion tokens, 0.000012 at these prices."""
    how = {"price": [1, 1], "max_cost": 0.00006, "limit": 2}
    found = compared(chats, SERVED, {"options": {"temperature": 0}}, **how)
    with pytest.warns(UserWarning, match="stopped before the end"):
        found.ask()
    assert len(served.requests) == 5
    assert "openai:m: the limit on cost was reached" in repr(found) and "not asked" in repr(found)


VERDICT = r"\[\[([AB])\]\]"
COMPARE = "{{context}}\nA: {{hypothesis}}\nB: {{other}}\nMore {aspect}? End with [[A]] or [[B]]."


@pytest.mark.parametrize(
    "base",
    [
        {"prompt": nj.judging.as_prompt(COMPARE, aspect="coherence", pattern=VERDICT)},
        {"prompt": COMPARE, "pattern": VERDICT},
    ],
)
def test_a_set_up_says_how_replies_are_read(base, chats):
    asked = []

    def judge(item):
        asked.append(item.prompt)
        return f"Both have merits.\n\nFinal: [[{'AB'[len(item.hypothesis) <= len(item.other)]}]]"

    words = {"words": {"More coherence": "Greater coherence"}}
    found = compared(nj.data.pairs(chats), {"judge": judge} | base, words)
    assert found.replies["base"]["score"].notna().all()
    assert found.table.loc["coherence", "difference"] == 0
    for text in ("More coherence?", "Greater coherence?"):
        assert sum(text in prompt for prompt in asked) == len(asked) / 2


def test_neither_order_of_an_example_is_judged(chats):
    pairs = nj.data.pairs(chats)
    found = compared(pairs, {"judge": "surface", "prompt": COMPARE}, {"examples": 3})
    for replies in found.replies.values():
        orders = replies["item_id"].str.rpartition("/")[0].value_counts()
        assert set(orders) == {2} and len(orders) == len(pairs.items) / 2 - 3
    people = pairs.human().set_index("item_id")["coherence"]
    with pytest.raises(ValueError, match="people prefer neither"):
        tied = people.index[people == 0.5][:1]
        compared(pairs, {"judge": "surface", "prompt": COMPARE}, {"examples": list(tied)})


def test_the_text_after_its_words_states_the_scale(chats):
    """On 1 to 10 a rule's ratings are 1 + 9/4 (r - 1) of those on 1 to 5."""
    base = {"judge": "surface", "prompt": "Rate the {aspect} from 1 to 5: {{hypothesis}}"}
    ten = {"words": {"1 to 5": "1 to 10"}, "scale": [1, 10]}
    scores = compared(chats, base, ten).scores
    expected = 1 + 9 / 4 * (scores["base:coherence"] - 1)
    assert scores["variant:coherence"].tolist() == pytest.approx(expected.tolist(), abs=0.03)


def test_unread_replies_of_a_trial_stop_both_set_ups_and_a_store_keeps_them(chats, serve, tmp_path):
    """Only the variant's replies cannot be read; of 50 items by two aspects, its first 25 are asked about."""

    def answer(_, __, body):
        is_strict = json.loads(body)["messages"][0]["role"] == "system"
        return completion(["It depends." if is_strict else "2"])

    server = serve(answer)
    how = {"aspects": ["coherence", "engagingness"], "store": tmp_path / "own.sqlite"}
    found = compared(chats, SERVED, {"system": "Be strict."}, **how).ask()
    assert found.table is None and len(server.requests) <= 100
    assert "50 of 50 hold no rating" in found.answer and "× no_rating 'It depends.'" in found.answer
    found.ask()
    assert len(server.requests) <= 100 and (tmp_path / "own.sqlite").is_file()


def planted(seed, gain, systems, aspects=("a", "b")):
    """Two judges whose errors stick to systems; those of the second are smaller by `gain`."""
    rng = np.random.default_rng(seed)
    keys = [(f"d{d}", str(s)) for d in range(30) for s in range(systems)]
    quality = rng.normal(size=systems)
    errors = rng.normal(size=(2, systems)) * [[1], [1 - gain]]
    ratings, scores = [], {}
    for aspect in aspects:
        people = quality + rng.normal(size=(30, systems))
        noise = rng.normal(size=(2, 30, systems)) * [[[1]], [[1 - gain]]]
        both = quality + errors[:, None] + noise
        for (d, s), human, *judged in zip(keys, people.flat, *both.reshape(2, -1)):
            ratings.append((f"{d}/{s}", aspect, "mean", human))
            scores[f"{d}/{s}", aspect] = judged
    items = [(None, *key, "", "text", [], "") for key in keys]
    judges = [{"judge": lambda item, n=n: scores[item.item_id, item.aspect][n]} for n in (0, 1)]
    made = build("made", items, ratings, source="own")
    return compared(made, *judges, list(aspects), permutations=199)


def claims(answer):
    """What an answer claims on these items, and for systems like these."""
    pattern = r"on these items for (.*), and for systems like these for (.*?)(?:: | \()"
    return re.search(pattern, answer).groups()


def test_errors_that_stick_to_systems_are_no_difference_for_systems_like_these():
    """20 families without a difference for systems like these, and 10 with one of 0.25 on average."""
    without = [claims(planted(seed, 0, 12).answer) for seed in range(20)]
    on_items, on_systems = (sum(c != "no aspect" for c in side) for side in zip(*without))
    assert on_items >= 4 and on_systems <= 2
    found = [claims(planted(seed, 0.9, 16).answer)[1] for seed in range(10)]
    assert sum(c != "no aspect" for c in found) >= 8


def test_too_few_systems_or_none_are_said():
    """Five systems have 16 different swaps; of two aspects no corrected p is below 2/16."""
    answer = planted(0, 0.9, 5).answer
    assert claims(answer)[1] == "no aspect" and "no p can be below 0.12" in answer
    assert "one system: nothing to swap" in planted(0, 0.9, 1).answer


class Refuses:
    """A judge that must not be asked."""

    name = "refuses"

    def replies(self, tasks):
        raise AssertionError("it was asked")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"judge": "surfce"}, "did you mean 'surface'"),
        ({"prompt": "Rate {{hypothesis}}: {{Reply}}"}, "no column 'Reply'"),
        ({"scale": [5, 5]}, "expected two different ratings"),
        ({"words": {"four stars": "five"}}, "has no 'four stars': replace"),
        ({"pattern": "Rating: [1-5]"}, "group"),
        ({"average": "coherence"}, r"average='coherence': expected a list, as \['coherence', "),
        ({"words": ["a"]}, r"words=\['a'\]: expected a dict, as {'carefully': 'with care'}"),
        ({"perturb": ["tipos", "", 5]}, "no perturbation 'tipos': did you mean 'typos'"),
        ({"aggregation": "men"}, "no aggregation 'men': did you mean 'mean'"),
        ({"sample": 2}, "no entry of a set-up 'sample': did you mean 'samples'"),
        ({"samples": 1}, "expected another value than the base has, of one of judge, prompt"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_asked(change, message, chats):
    with pytest.raises((ValueError, KeyError), match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compared(chats, PROMPT | {"judge": Refuses()}, change)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"aspects": ["coherance"]}, "no aspect 'coherance': did you mean 'coherence'"),
        ({"level": "datset"}, "no level 'datset': did you mean 'dataset'"),
        ({"permutations": 0}, "permutations=0"),
    ],
)
def test_a_mistake_in_how_to_compare_is_refused_first(how, message, chats):
    with pytest.raises(ValueError, match=message):
        compared(chats, {"judge": Refuses()}, {"samples": 2}, **how)


def test_a_new_scale_warns_while_the_prompt_describes_the_old_one(chats):
    whole = {"words": {"1-3": "1-10", "score of 3": "score of 10", "score of 2": "score of 5"}}
    for words in ({}, {"words": {"1-3": "1-10"}}):  # the second still says what a score of 3 is
        with pytest.warns(UserWarning, match="coherence describes another scale .*: change its"):
            compared(chats, SURFACE, words | {"scale": [1, 10]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared(chats, SURFACE, whole | {"scale": [1, 10]})


@pytest.fixture
def turned():
    """Ten documents of four systems, which people rate 0 to 3; a text is the numbers of both."""
    items = [(None, f"d{d}", str(s), "", f"{d}{s}", [], "") for d in range(10) for s in range(4)]
    ratings = [(f"d{d}/{s}", "style", "mean", s) for d in range(10) for s in range(4)]
    return build("made", items, ratings, source="own")


def test_an_unstable_interval_and_a_missing_one_are_said(turned):
    """One document of ten has all of the variance; the other judge's correlation is exactly 1."""
    exact = {"judge": lambda item: int(item.hypothesis[1])}
    turns = {
        "judge": lambda item: int(item.hypothesis[1]) * (-1 if item.hypothesis[0] == "0" else 1)
    }
    found = compared(turned, exact, turns, ["style"], level="sample")
    assert found.table.loc["style", ["base", "variant"]].tolist() == [1, 0.8]
    for shown in (repr(found), found._repr_html_()):
        assert "interval: one of 10 documents has 90% of the variance" in shown
        assert "(style difference, style variant)" in shown
        assert "no interval: the correlation is exactly 1 or -1 (style base)" in shown
    assert found.answer.startswith("With judge <lambda> in place of <lambda>, the correlation")
    assert "judge &lt;lambda&gt;" in found._repr_html_()


def test_the_answer_comes_first_and_begins_with_the_samples_notice(chats):
    found = compared(chats, SURFACE, {"perturb": ["typos", "", 5]}, price=[1, 1])
    assert found.answer.startswith(f"{SAMPLE_NOTICE}. With perturb typos 5, the correlation")
    assert f"most for coherence: {found.table['difference'].iloc[0]:.2f} [" in found.answer
    assert repr(found).startswith(f"Answer: {found.answer}\n")
    assert found._repr_html_().startswith(f"<p><strong>Answer:</strong> {found.answer}</p><table")
    assert "variant: replies: 50 parsed" in repr(found)
    assert found.table[["base_cost", "variant_cost"]].eq(0).all(axis=None)  # a rule costs nothing


def test_how_the_scores_moved_by_hand(turned):
    """Half of the scores are one higher, and one more document by three."""

    def higher(item):
        document, system = map(int, item.hypothesis)
        return system + (document < 5) + 3 * (document == 9)

    base = {"judge": lambda item: int(item.hypothesis[1])}
    (row,) = compared(turned, base, {"judge": higher}, ["style"]).moved().to_dict("records")
    assert (row["items"], row["base"], row["variant"], row["changed"]) == (40, 1.5, 2.3, 0.6)
    assert (row["base_values"], row["variant_values"]) == (4, 7)
    shifts = np.array([1] * 5 + [0] * 4 + [3])
    half = 2.262157 * shifts.std(ddof=1) / 10**0.5  # t with nine degrees of freedom
    assert row["shift"] == f"0.80 [{0.8 - half:.2f}, {0.8 + half:.2f}]"


def test_table_and_figure_are_written_where_a_sweep_finds_them(chats, tmp_path):
    found = compared(chats, SURFACE, {"perturb": ["typos", "", 5]}, ["coherence", "engagingness"])
    found.write("mine")
    folder = tmp_path / "out" / "sample"
    written = pd.read_csv(folder / "ablation" / "mine.csv", index_col="aspect")
    assert written["difference"].tolist() == pytest.approx(found.table["difference"].tolist())
    assert (folder / "figures" / "mine.svg").is_file()
    figure = found.figure()
    assert [axis.get_title() for axis in figure.axes] == ["coherence", "engagingness"]
    assert SAMPLE_NOTICE in figure.get_suptitle()


def test_the_template_runs_and_asks_no_server_about_an_unwanted_sample(
    run_cells, served, tmp_path, monkeypatch
):
    quick = {"samples": 1, "permutations": 99, "limit": 2, "aspects": COHERENCE}
    change = {"options": {"temperature": 0}}
    with pytest.MonkeyPatch.context() as offline:
        offline.setenv("NLGJUDGE_MIRROR", "")
        offline.setenv("NLGJUDGE_OFFLINE", "1")
        with pytest.raises(ValueError, match="^SAMPLE: .* nothing was asked"):
            run_cells("template_ablation", judge="openai:m", change=change, **quick)
    assert not served.requests
    run_cells("template_ablation", source="sample", judge="openai:m", change=change, **quick)
    assert len(served.requests) == 20
    path = tmp_path / "out" / "sample" / "ablation" / "template_ablation.csv"
    assert pd.read_csv(path)["aspect"].tolist() == COHERENCE
