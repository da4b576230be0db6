"""LLMBar (Zeng et al. 2024): printed cells from the released verdicts, and a planted judge that compares over HTTP."""

import json
import re
import zlib

import pytest

import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.data.recordings import available
from nlgjudge.data.registry import prompt_files
from nlgjudge.judging.prompts import names
from nlgjudge.ledger.average_audit import printed_averages
from nlgjudge.ledger.comparison import compare
from nlgjudge.ledger.printed import KEY
from nlgjudge.notebook.reruns import rerun
from nlgjudge.papers.llmbar.steps import choose_in_steps

ASPECT = "instruction_following"
UPSTREAM = {
    "vanilla_no_rules": "comparison/Vanilla_NoRules",
    "vanilla": "comparison/Vanilla",
    "vanilla_1shot": "comparison/Vanilla_1shot",
    "vanilla_2shot": "comparison/Vanilla_2shot",
    "swap": "swap_and_synthesize/Swap",
    "auxiliary_metrics": "auxiliary/Metrics",
    "auxiliary_reference": "auxiliary/Reference",
    "rating_no_rules": "rating/Rating_NoRules",
}


@pytest.fixture
def own_checkout():
    """The printed tables are read from the repository itself."""


@pytest.fixture
def sample():
    return nj.load("llmbar", "sample").items


@pytest.mark.parametrize(
    "row, table, policy",
    [
        ("GPT-4, Metrics+Reference*", "table2", "released"),
        ("GPT-4, Metrics+Reference*", "table2", "nan"),  # all of its replies can be read
        ("GPT-4, Swap*", "table2", "released"),
        ("Falcon, Vanilla", "table9", "released"),  # of unread replies, too
        ("GPT-4, Vanilla*, rating", "table11", "released"),  # appendix D
        ("ChatGPT, Vanilla, rating", "table10", "released"),
    ],
)
def test_printed_rows_follow_from_the_released_verdicts(row, table, policy, real):
    if not available(f"llmbar/{row}"):
        pytest.skip("needs the mirror: LLMBar's released replies")
    printed = nj.Table("llmbar", table)
    replies = nj.judging.responses(f"llmbar/{row}", policy=policy)
    scores = nj.item_scores({row: replies})
    scores = scores.rename(columns={f"{row}:{ASPECT}": row})
    for name in nj.paper("llmbar").averages["llmbar"]:
        pairs = real(f"llmbar_{name}")
        own = pairs.with_scores(scores[scores["item_id"].isin(pairs.items["item_id"])])
        counted = nj.llmbar.unread_as_wrong(own, [row])
        printed.fill(pairs, counted, {row: row}, "released_responses", variant="verdicts")
    cells = printed.rows
    assert (cells["verdict"] == "exact").all()
    assert len(cells) == (nj.published("llmbar", table)["row"] == row).sum()


def test_unread_choices_are_wrong_and_agree_with_each_other_alone(sample):
    people = nj.load("llmbar", "sample").human().sort_values(["doc_id", "system_id"])
    right = people[ASPECT]
    # By pair: right twice, wrong and unread, right and unread, unread twice, then right twice.
    wrong = 1 - right
    judge = right.where(~people["doc_id"].isin(["i02", "i03", "i04"]))
    first = people["system_id"] == "order/1"
    judge = judge.mask((people["doc_id"] == "i02") & first, wrong)
    judge = judge.mask((people["doc_id"] == "i03") & first, right)
    counted = nj.llmbar.unread_as_wrong(people.assign(judge=judge), ["judge"])
    frame = people.merge(counted, on="item_id")
    shares = {
        name: nj.correlation(frame, f"judge:{name}", ASPECT, level="pair", coefficient=name).value
        for name in ("accuracy", "agreement")
    }
    # Accuracy: 1 + 0 + 1/2 + 0 + 1 + 1; agreement: 1 + 0 + 0 + 1 + 1 + 1; of six pairs.
    assert shares == {"accuracy": pytest.approx(3.5 / 6), "agreement": pytest.approx(4 / 6)}


def test_a_pair_with_an_unread_rating_is_a_tie():
    people = nj.load("llmbar", "sample").human().sort_values(["doc_id", "system_id"])
    ratings = 4 + 3 * people[ASPECT]
    ratings = ratings.where(people["item_id"] != "i01/order/2")
    ratings = ratings.mask(people["doc_id"] == "i02", 5)
    counted = nj.llmbar.unread_as_wrong(people.assign(judge=ratings), ["judge"])
    frame = people.merge(counted, on="item_id")
    shares = {
        name: nj.correlation(frame, f"judge:{name}", ASPECT, level="pair", coefficient=name).value
        for name in ("accuracy", "different", "hedging")
    }
    # Two ties count one half each in the accuracy (Table 11's caption).
    expected = {"accuracy": 5 / 6, "different": 4 / 6, "hedging": 2 / 6}
    assert shares == pytest.approx(expected)


@pytest.mark.parametrize("name", UPSTREAM)
def test_printed_prompts_are_what_was_sent(name, content):
    entry = prompt_files(f"upstream:llmbar/{UPSTREAM[name]}")[0]
    released = content("llmbar", path=entry.path).decode()
    asked = nj.prompt(f"llmbar/{name}")
    turns = [*asked.before, ("user", asked.body)]
    marked = "\n".join(f"<|im_start|>{role}\n{text}\n<|im_end|>" for role, text in turns)
    assert re.sub(r"\s+", " ", marked) == re.sub(r"\s+", " ", released)


def test_prompts_of_parts_are_read_from_upstream(content):
    content("llmbar", role="prompt")
    for name in names():
        if name.startswith("llmbar/"):
            asked = nj.prompt(name)
            assert asked.before[0][0] == "system"
            assert all(slot in asked.body for slot in asked.slots)
    shots = nj.prompt("llmbar/vanilla_2shot").before
    assert [role for role, _ in shots] == ["system", *["user", "assistant"] * 2]
    assert [text for role, text in shots if role == "assistant"] == ["Output (b)", "Output (a)"]


def test_texts_before_the_choice_are_written_once_a_pair(sample, content):
    content("llmbar", role="prompt")
    asked = []

    def judge(item):
        asked.append(item)
        if "propose at most three" in item.prompt:
            return f"Is it short? {item.source}"
        return "REFERENCE" if item.prompt == item.source else "Output (b)"

    last = nj.prompt("llmbar/metrics_reference")
    found = choose_in_steps(sample, nj.get_judge(judge), last, {"max_tokens": 50}, {})
    assert found["score"].tolist() == [0] * len(sample)
    assert len(asked) == 2 * sample["doc_id"].nunique() + len(sample)
    shown = asked[-1].prompt
    assert f"Is it short? {sample['source'].iloc[-1]}" in shown and "REFERENCE" in shown


def test_rows_of_several_steps_have_one_reply_each(content):
    content("llmbar", role="prompt")
    how = {"source": "sample", "options": {"samples": 3}}
    with pytest.raises(ValueError, match="GPT-4, Metrics.*: samples=3: each step"):
        rerun("llmbar", "table2", {"GPT-4, Metrics*": "surface"}, **how)


def test_an_item_without_its_metrics_is_not_asked_about(sample, content):
    content("llmbar", role="prompt")

    def judge(item):
        if "propose at most three" in item.prompt:
            is_empty = item.source.startswith("Name three")
            return "<think>Output (b).</think>" + ("" if is_empty else "Is it short?")
        assert "Output (b).<" not in item.prompt and "Is it short?" in item.prompt
        return "Output (a)"

    asked = nj.get_judge(judge)
    found = choose_in_steps(sample, asked, nj.prompt("llmbar/metrics"), {}, {})
    found = found.set_index("item_id").loc[sample["item_id"]]
    lacking = (sample["doc_id"] == "i01").to_numpy()
    assert found["score"].isna().tolist() == lacking.tolist()
    assert set(found.loc[lacking, "reason"]) == {"empty"}
    nothing = choose_in_steps(sample[lacking], asked, nj.prompt("llmbar/metrics"), {}, {})
    assert nothing["score"].isna().all() and len(nothing) == 2


def test_a_debate_shows_each_output_the_reasons_for_it(sample, content):
    content("llmbar", role="prompt")
    debates = []

    def judge(item):
        if "Debate between" in item.prompt:
            debates.append(item.prompt)
            return "Output (a)"
        is_first = item.source.startswith("Name three") or item.hypothesis < item.other
        letter = "a" if is_first else "b"
        return f"<think>Hm.</think>Output (a) is {len(item.hypothesis)} long. Therefore, Output ({letter}) is better."

    found = choose_in_steps(sample, nj.get_judge(judge), nj.prompt("llmbar/swap"), {}, {})
    assert len(found) == len(sample) and found["score"].notna().all()
    first, second = debates  # the one pair of which both orders chose the first place
    lengths = sample.loc[sample["doc_id"] == "i01", "hypothesis"].str.len().tolist()
    for text, (own, other) in ((first, lengths), (second, lengths[::-1])):
        for_a = text.partition("thinks Output (a) is better:\n")[2].partition("\n##")[0]
        for_b = text.partition("thinks Output (b) is better:\n")[2].partition("\n\n#")[0]
        assert for_a == f"Output (a) is {own} long. Therefore, Output (a) is better."
        # The other order's own words, with both letters exchanged.
        assert for_b == f"Output (b) is {other} long. Therefore, Output (b) is better."


class Planted:
    """Knows seven pairs in ten, and prefers the first place on the others; after a debate it knows all."""

    def __init__(self, benchmarks):
        self.right = {}
        for benchmark in benchmarks:
            people = benchmark.human().set_index("item_id")[ASPECT]
            for item in benchmark.items.itertuples():
                shown = f"{item.source}\n\n# Output (a):\n{item.hypothesis}\n\n# Output (b):\n{item.other}"
                self.right[shown] = item.doc_id, people[item.item_id]

    def knows(self, doc_id):
        return zlib.crc32(doc_id.encode()) % 10 < 7

    def __call__(self, number, path, body):
        text = json.loads(body)["messages"][-1]["content"]
        doc_id, is_first = next(
            (pair for shown, pair in self.right.items() if shown in text), ("", 1)
        )
        is_right = self.knows(doc_id) or "Debate between" in text
        letter = "a" if (is_first or not is_right) else "b"
        if "verbatim" in text:
            return completion([f"Both are fluent. Therefore, Output ({letter}) is better."])
        return completion([f"Output ({letter})"])


def test_a_planted_judge_fills_the_main_table_over_http(real, content, tmp_path, monkeypatch):
    content("llmbar", role="prompt")
    sets = {name: real(f"llmbar_{name}") for name in nj.paper("llmbar").averages["llmbar"]}
    planted = Planted(sets.values())
    rows = ["GPT-4, Vanilla*", "GPT-4, Swap*", "GPT-4, Metrics+Reference*"]
    limit = 10  # pairs of each set
    known = {
        name: sum(map(planted.knows, benchmark.items["doc_id"].unique()[:limit])) / limit
        for name, benchmark in sets.items()
    }
    with Loopback(planted) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
        judge = nj.get_judge("openai:planted", store=tmp_path / "replies.sqlite")
        ask = {"judge": dict.fromkeys(rows, judge), "source": "real", "limit": limit}
        plan = rerun("llmbar", "table2", plan_only=True, **ask)
        run = rerun("llmbar", "table2", **ask)
        calls = len(server.requests)
        again = rerun("llmbar", "table2", **ask)
        assert len(server.requests) == calls
    assert "GPT-4, Swap*" in plan.notice and "the least" in plan.notice
    debates = 2 * round(sum((1 - share) * limit for share in known.values()))
    assert plan.plan["calls"].sum() == calls - debates
    cells = run.cells.set_index(["row", "dataset", "coefficient"])["ours"]
    for name, share in known.items():
        for row in (rows[0], rows[2]):
            assert cells[row, name, "accuracy"] == pytest.approx(share + (1 - share) / 2)
            assert cells[row, name, "agreement"] == pytest.approx(share)
        assert cells[rows[1], name, "accuracy"] == 1
        # Where the judge does not know a pair, the text shown first is chosen in both orders.
        frame = run.scores[rows[0], name, "table2"]
        first = nj.correlation(
            frame, f"judge:{ASPECT}", ASPECT, level="pair", coefficient="first"
        ).value
        assert first == pytest.approx(share / 2 + (1 - share))
    mean = sum(known.values()) / len(known)
    assert cells[rows[0], "llmbar", "accuracy"] == pytest.approx(mean + (1 - mean) / 2)
    assert run.counts["left open"].str.contains("logit bias").all()
    assert again.cells["ours"].equals(run.cells["ours"])


def test_a_rerun_counts_unread_choices_as_the_paper_does(sample):
    """Right in both orders of each pair, but unread in one order of the first and in both of the second."""
    label = nj.load("llmbar_natural", "sample").human().set_index("item_id")[ASPECT]
    pairs = sample["doc_id"].unique()
    of_pair = dict(list(sample.groupby("doc_id")["item_id"]))
    unread = {of_pair[pairs[0]].iloc[0], *of_pair[pairs[1]]}

    def judge(item):
        return (
            "Neither." if item.item_id in unread else f"Output ({'ba'[int(label[item.item_id])]})"
        )

    run = rerun("llmbar", "table2", {"GPT-4, Vanilla": judge}, source="sample")
    found = run.cells.query("dataset == 'natural'").set_index("coefficient")["ours"]
    n = len(pairs)
    assert found["accuracy"] == pytest.approx((n - 2 + 1 / 2) / n)
    assert found["agreement"] == pytest.approx((n - 1) / n)
    assert "counted as wrong" in run.sentences()[0] and "leave them out" not in run.notice
    assert run.counts["left open"].str.contains("unread reply counts as wrong").all()


def test_the_released_side_of_a_difference_has_the_authors_verdicts(real):
    """A judge that is always right: one rule on both sides gives 1 minus the printed accuracy on Natural, 0.935."""
    if not available("llmbar/GPT-4, Vanilla"):
        pytest.skip("needs the mirror: LLMBar's released replies")
    label = real("llmbar_natural").human().set_index("item_id")[ASPECT].to_dict()
    judge = lambda item: f"Output ({'ba'[int(label.get(item.item_id, 0))]})"  # noqa: E731
    means = rerun("llmbar", "table2", {"GPT-4, Vanilla": judge}).means.set_index("dataset")
    assert means.loc["natural", "difference"] == pytest.approx(1 - 0.935)


def test_printed_percentages_are_shares_with_all_of_their_digits():
    """Table 2, GPT-4, Vanilla: 93.5 and 97.0 on Natural; 73.1 and 77.2 on average."""
    printed = nj.published("llmbar", "table2").query("row == 'GPT-4, Vanilla'")
    assert printed["printed"].iloc[:2].tolist() == ["0.935", "0.970"]
    averages = printed_averages(printed.query("coefficient == 'accuracy'")).set_index("dataset")
    four = (64.2 + 76.6 + 76.6 + 75.0) / 4
    assert averages.loc["adversarial", "mean"] == pytest.approx(four / 100)
    assert averages.loc["llmbar", "mean"] == pytest.approx((93.5 + 4 * four) / 500)
    assert averages["cells"].to_dict() == {"adversarial": 4, "llmbar": 5}
    assert averages["consistent"].all()


def test_our_averages_are_of_the_same_sets_and_a_cell_is_close_within_a_point():
    table = nj.published("llmbar", "table2").query("row == 'GPT-4, Vanilla'")
    single = table[table["aspect"] != "AVG"]
    ours = single[KEY].assign(ours=single["value"] + 0.009)
    rows = compare("llmbar", "table2", table, ours, evidence="released_responses", notebook="n")
    assert (rows["verdict"] == "close").all() and len(rows) == len(table)
    found = rows.set_index(["dataset", "coefficient"])["ours"]
    sets = ["neighbor", "gptinst", "gptout", "manual"]
    mean = sum(found[name, "accuracy"] for name in sets) / 4
    assert found["adversarial", "accuracy"] == pytest.approx(mean)


def test_a_constant_row_is_named_and_no_cell():
    rows = nj.ledger.committed().query("paper == 'llmbar' and row == 'Random Guess'")
    assert set(rows["group"]) == {"constant"} and rows["ours"].isna().all()
    assert "Random Guess" not in nj.Table("llmbar", "table8").answer


def test_verdicts_of_publishers_are_a_policy_of_recordings_alone(sample):
    with pytest.raises(ValueError, match="expected a recording with the publishers' own verdicts"):
        nj.judging.responses([("i01/order/1", ASPECT, 0, "Output (a)", "", [])], policy="released")
    with pytest.raises(ValueError, match="policy"):
        nj.judge_items(sample, "llmbar/vanilla", "surface", policy="released")


def test_rows_whose_prompts_are_not_here_are_left_out_and_named(isolated, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    plan = rerun("llmbar", "table2", source="sample")
    rows = plan.plan.index.get_level_values("row").unique().tolist()
    assert rows == ["GPT-4, Vanilla", "GPT-4, Vanilla*"]
    assert "the prompt of GPT-4, CoT*, the prompt of GPT-4, Swap*" in plan.notice
