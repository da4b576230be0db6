"""Ablations: planted changes come back, and what was changed is what is shown."""

import ast
import json
import re
import shutil
from pathlib import Path

import nbformat
import numpy as np
import pytest

import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.data.paths import root
from nlgjudge.judging.live import Limits, Live
from nlgjudge.judging.run import get_judge
from nlgjudge.judging.store import Store
from nlgjudge.judging.tasks import Reply
from nlgjudge.papers.dhp.perturbing import Perturbation
from nlgjudge.repo import cli
from nlgjudge.studies import ablation_setups

PROMPT = {"prompt": "geval/dialogue/{aspect}"}


@pytest.fixture(scope="module")
def chats():
    return nj.load("topical_chat", "sample")  # 10 dialogues, 5 responses each


def ablate(benchmark, baseline, variant, aspects=("coherence",), **options):
    options = {"level": "dataset", "resamples": 100, "permutations": 199} | options
    return nj.ablate(
        benchmark,
        PROMPT | baseline,
        PROMPT | variant,
        rng=np.random.default_rng(0),
        aspects=list(aspects),
        **options,
    )


def simulated(chats, seed=0, **settings):
    human = chats.ratings.groupby(["item_id", "aspect"])["score"].mean().to_dict()
    return {"judge": nj.judging.Simulated(truth=human, rng=np.random.default_rng(seed), **settings)}


class Says:
    """A judge that gives the same samples to every item but the first, which gets a 2."""

    name = "says"

    def __init__(self, *samples):
        self.samples = samples

    def replies(self, tasks):
        for number, task in enumerate(tasks):
            for i in range(task.n):
                yield Reply(task.item_id, task.aspect, i, str(self.samples[i] if number else 2))


def test_planted_noise_is_found_and_its_sign_follows_the_roles(chats):
    clear, noisy = simulated(chats), simulated(chats, noise=2)
    (lost,) = ablate(chats, clear, noisy).result.to_dict("records")
    assert lost["baseline"] > 0.95 and lost["difference"] < -0.2 and lost["p"] < 0.02
    assert lost["ci_low"] <= lost["difference"] <= lost["ci_high"] < 0
    (won,) = ablate(chats, simulated(chats, noise=2), simulated(chats)).result.to_dict("records")
    assert won["difference"] == pytest.approx(-lost["difference"])


def test_no_change_in_the_scores_is_no_difference(chats):
    found = ablate(chats, {"samples": 1}, {"samples": 3})  # the rule always replies the same
    assert found.result["difference"].item() == 0 and found.result["p"].item() == 1
    assert found.shifts["changed"].item() == 0 and found.parameters.loc["samples"].tolist() == [
        1,
        3,
    ]


def test_the_result_is_that_of_the_functions_beneath(chats):
    aspects = ["coherence", "engagingness"]
    found = ablate(
        chats, {}, {"prompt": [f"geval/dialogue/{a}" for a in aspects]}, aspects, level="sample"
    )
    judged = nj.judging.wide(
        {
            "own": nj.item_scores(
                nj.judge_items(chats.items, [f"geval/dialogue/{a}" for a in aspects], "surface")
            )
        }
    )
    frame = chats.with_scores(
        judged.assign(both=(judged["own:coherence"] + judged["own:engagingness"]) / 2)
    )
    own, both = (nj.correlation(frame, c, "coherence").value for c in ("own:coherence", "both"))
    first = found.result.iloc[0]
    assert first[["baseline", "variant", "difference"]].tolist() == pytest.approx(
        [own, both, both - own]
    )
    assert found.result["holm"].tolist() == nj.stats.holm(found.result["p"]).tolist()
    assert (
        found.result["holm_systems"].tolist() == nj.stats.holm(found.result["p_systems"]).tolist()
    )
    assert not found.result["p_systems"].isna().any()
    assert found.result["n"].tolist() == [10, 10]
    assert found.prompts["coherence"].startswith(
        "geval/dialogue/coherence -> geval/dialogue/coherence, geval/dialogue/engagingness: lines out 0, in "
    )


@pytest.mark.parametrize("estimator, expected", [("median", 1), ("mode", 1)])
def test_estimators_by_hand(chats, estimator, expected):
    # Samples 1, 1, 3: mean 5/3, median and mode 1; the first item has 2 throughout. 50 items.
    judge = {"judge": Says(1, 1, 3), "samples": 3}
    shift = ablate(chats, judge, judge | {"estimator": estimator}).shifts.loc["coherence"]
    assert shift["baseline"] == pytest.approx((2 + 49 * 5 / 3) / 50)
    assert shift["variant"] == pytest.approx((2 + 49 * expected) / 50)
    assert (
        shift["shift"] == pytest.approx(49 * (expected - 5 / 3) / 50) and shift["changed"] == 0.98
    )
    assert shift[["baseline_values", "variant_values"]].tolist() == [2, 2]


def test_unparsed_replies_are_counted_and_left_out_of_the_pairs(chats):
    found = ablate(chats, simulated(chats), simulated(chats, refusals=0.3))
    missing = found.cost.loc["variant", "unparsed"]
    assert found.cost.loc["baseline", "unparsed"] == 0 < missing < 50
    assert found.shifts["items"].item() == found.result["n"].item() == 50 - missing


def test_wording_and_scale(chats):
    scaled = {"words": {"(1-3)": "(1-10)", "scale of 1-3": "scale of 1-10"}, "scale": [1, 10]}
    found = ablate(chats, {}, scaled)
    text = found.prompts["coherence"].splitlines()
    assert "-Coherence (1-3) Does the response follow on from the conversation?" in text
    assert "+Coherence (1-10) Does the response follow on from the conversation?" in text
    assert sum(line[0] == "+" for line in text[2:]) == 2
    assert set(found.parameters.index) == {"words", "scale"}
    # The rule rates low + (high - low) * share: from 1 + 2 s to 1 + 9 s, in replies of two digits.
    was, now = found.shifts.loc["coherence", ["baseline", "variant"]]
    assert now == pytest.approx(1 + 9 * (was - 1) / 2, abs=0.05)
    name = "geval/dialogue/coherence"
    assert (
        found.digests[f"baseline: {name}"]
        == nj.prompt(name).digest
        != found.digests[f"variant: {name}"]
    )


def test_prompts_that_are_not_ours_are_counted_not_shown(chats, monkeypatch):
    own = nj.prompt("geval/dialogue/coherence")
    monkeypatch.setattr(
        ablation_setups,
        "as_prompt",
        lambda name, **_: own._replace(
            name=f"upstream:{name}", body=f"kept\nsecret of {name}\n{{{{Response}}}}{{{{Fact}}}}"
        ),
    )
    found = ablate(chats, {"prompt": "a"}, {"prompt": "b"})
    assert found.prompts == {"coherence": "upstream:a -> upstream:b: lines out 1, in 1"}
    assert found.change == "prompt: b against a"


def test_a_prompt_may_be_a_text_or_an_object(chats):
    text = "Rate the {aspect} of this reply from 1 to 3: {{hypothesis}}"
    found = ablate(chats, {}, {"prompt": text, "scale": [1, 3]}, ["coherence", "naturalness"])
    assert (
        "+Rate the naturalness of this reply from 1 to 3: {{hypothesis}}"
        in found.prompts["naturalness"]
    )
    made = nj.judging.as_prompt(
        text.replace("{aspect}", "coherence"), aspect="coherence", scale=(1, 3)
    )
    same = ablate(chats, {}, {"prompt": made})
    assert same.result.iloc[0]["variant"] == found.result.iloc[0]["variant"]
    assert same.digests[f"variant: {made.name}"] == made.digest
    assert same.parameters.loc["prompt", "variant"] == made.name


def test_a_policy_says_what_an_unread_reply_counts_as(chats):
    judge = simulated(chats, refusals=0.3)
    found = ablate(chats, judge, simulated(chats, refusals=0.3) | {"policy": "store_3"})
    unread = found.cost.loc["baseline", "unparsed"]
    assert unread > 0 and found.cost.loc["variant", "unparsed"] == 0
    assert found.shifts["items"].item() == 50 - unread and found.parameters.loc[
        "policy"
    ].tolist() == ["nan", "store_3"]


def test_sampling_parameters_have_their_own_names(chats):
    class Notes(Says):
        def replies(self, tasks):
            self.settings = tasks.settings
            yield from super().replies(tasks)

    one, other = Notes(1), Notes(1)
    changed = {"judge": other, "temperature": 0, "max_tokens": 5, "sampling": {"seed": 1}}
    ablate(chats, {"judge": one}, changed)
    assert one.settings == {} and other.settings == {"seed": 1, "temperature": 0, "max_tokens": 5}


def test_what_came_out_is_said_in_sentences(chats):
    found = ablate(chats, simulated(chats), simulated(chats, noise=2))
    lost = -found.result["difference"].item()
    assert found.findings()[:3] == [
        f"The variant's correlation with people is lower for coherence, by {lost:.2f}.",
        "After Holm's correction the difference is significant at 5% for coherence with items swapped (other items of "
        "these systems), and nowhere with systems swapped (other systems).",
        "The interval of the difference excludes zero for coherence.",
    ]
    same = ablate(chats, {}, {"samples": 2}, ["coherence", "naturalness"]).findings()
    assert same[:3] == [
        "The correlation with people is the same in all two aspects, to two decimals.",
        "No difference is significant at 5% after Holm's correction, "
        "with items or with systems swapped.",
        "Every interval of a difference includes zero.",
    ]
    assert same[3].startswith("Mean scores move by at most 0.00. The baseline takes ")


class Refuses(Says):
    """A judge that must not be asked."""

    def replies(self, tasks):
        raise AssertionError("it was asked")
        yield


SUMMARIES = nj.load("summeval", "sample")


@pytest.mark.parametrize(
    "variant, options, message",
    [
        (
            {"prompt": "geval/dialoge/{aspect}"},
            {},
            "no prompt .*: did you mean 'geval/dialogue/coherence'",
        ),
        ({"prompt": "geval/dialogue/{aspct}"}, {}, "expected {aspect} as the only place to fill"),
        ({"prompt": "Rate this: {{Reply}}"}, {}, "no slot '{{Reply}}'"),
        ({"words": {"carefully": "{{Carefully}}"}}, {}, "no slot '{{Carefully}}'"),
        ({"words": "carefully"}, {}, "words='carefully': expected a dict of old to new wording"),
        (
            {"prompt": "geval/summarization/{aspect}"},
            {},
            "has no place for the context that every item has",
        ),
        (
            {"scale": [10, 1]},
            {},
            r"scale=\[10, 1\]: expected the lowest rating first, as \[1, 10\]",
        ),
        ({"scale": 10}, {}, "scale=10: expected the lowest and the highest rating"),
        ({"sample": 2}, {}, "no setting 'sample': did you mean 'samples'"),
        ({"estimator": "men"}, {}, "no estimator 'men': did you mean 'mean'"),
        ({"policy": "drp"}, {}, "no policy 'drp': did you mean 'drop'"),
        ({"samples": 0}, {}, "samples=0: expected a whole number of at least 1"),
        ({"temperature": "0"}, {}, "temperature='0': expected a number"),
        ({"perturb": "typos"}, {}, "perturb='typos': expected name, degree and number of edits"),
        ({"perturb": ["typo", "", 5]}, {}, "no perturbation 'typo': did you mean 'typos'"),
        (
            {"perturb": ["deletions", "", 9999]},
            {},
            "not one text has room for it .*; take fewer edits",
        ),
        ({"price": 4}, {}, "price=4: expected two numbers"),
        ({"max_cost": 1, "judge": "batch:m"}, {}, "a batch cannot stop at a cost"),
        ({"judge": "surfce"}, {}, "did you mean 'surface'"),
        ({"judge": 5}, {}, "judge=5: expected a name"),
        (
            {"samples": 2},
            {"aspects": "coherence"},
            r"aspects='coherence': expected a list of names, as \['coher",
        ),
        (
            {"samples": 2},
            {"aspects": ["coherance"]},
            "no aspect 'coherance': did you mean 'coherence'",
        ),
        ({"samples": 2}, {"limit": -5}, "limit=-5: expected a whole number of at least 0"),
        ({"samples": 2}, {"level": "smple"}, "no level 'smple': did you mean 'sample'"),
        (
            {"samples": 2},
            {"coefficient": "spearmen"},
            "no coefficient 'spearmen': did you mean 'spearman'",
        ),
        ({"samples": 2}, {"resamples": 0}, "resamples=0: expected a whole number of at least 1"),
        ({"samples": 2}, {"rng": 0}, "rng=0: expected a generator"),
        ({"samples": 2}, {"leave_out": "lead"}, r"leave_out='lead': expected a list of systems"),
        ("samples=1", {}, "variant='samples=1': expected settings in a dict"),
    ],
)
def test_a_mistake_is_one_line_before_either_judge_is_asked(chats, variant, options, message):
    baseline = {**PROMPT, "judge": Refuses()}
    variant = {**baseline, **variant} if isinstance(variant, dict) else variant
    options = {"aspects": ["coherence"], "rng": np.random.default_rng(0)} | options
    with pytest.raises((ValueError, KeyError), match=message) as caught:
        nj.ablate(chats, baseline, variant, **options)
    assert "\n" not in str(caught.value)


def test_a_prompt_of_another_task_is_refused_by_its_name():
    """A story's prompt has the slots of a summary's, so that only its name tells the two apart."""
    setups = {"judge": Refuses(), "prompt": "dhp/story/{aspect}"}
    with pytest.raises(
        ValueError, match="dhp/story/coherence is written for story, and the items are of"
    ):
        ablate(SUMMARIES, setups, setups | {"samples": 2})
    for name in ("chatgpt/da/newsroom/coherence", "geval/summarization_no_steps/coherence"):
        assert nj.prompt(name).task == "summarization"
    assert nj.prompt("coascore/llmscore").task == ""


def test_both_arms_are_checked_before_the_first_is_asked(chats):
    class Knows(Refuses):
        def check(self, tasks):
            raise ValueError("was never asked that")

    with pytest.raises(ValueError, match="was never asked that"):
        ablate(chats, {"judge": Refuses()}, {"judge": Knows()})


def test_limit_zero_is_all(chats):
    found = [
        ablate(chats, {}, {"samples": 2}, limit=limit).cost["samples"] for limit in (None, 0, 2)
    ]
    assert [samples.tolist() for samples in found] == [[50, 100], [50, 100], [10, 20]]


def test_perturbed_texts_lose_their_rating(chats):
    found = ablate(chats, {}, {"perturb": ["typos", "", 5]}, ["naturalness"])
    shift = found.shifts.iloc[0]
    assert shift["items"] == 50 and shift["shift_low"] <= shift["shift"] < -0.02
    assert not found.prompts


def test_systems_and_items_can_be_left_out(chats):
    found = ablate(chats, {}, {"scale": [1, 10]}, leave_out=["garbled"], limit=3)
    assert found.shifts["items"].item() == 12 and found.cost["samples"].tolist() == [12, 12]


@pytest.mark.parametrize(
    "baseline, variant, message",
    [
        ({}, {}, "the variant equals the baseline: change one of judge, prompt"),
        (
            {},
            {"sample": 2},
            "no setting 'sample': did you mean 'samples'.* There are judge, prompt",
        ),
        ({}, {"estimator": "best"}, "no estimator 'best'; there are mean, median, mode"),
        (
            {},
            {"words": {"four stars": "five"}},
            "geval/dialogue/coherence has no 'four stars' to replace",
        ),
        (
            {"judge": "replay:closer_look/geval"},
            {"judge": "replay:closer_look/geval", "words": {"a": "b"}},
            "replay:closer_look/geval holds 20 replies an item of gpt-3.5-turbo-0613 .* words and perturb cannot",
        ),
    ],
)
def test_what_cannot_be_compared(chats, baseline, variant, message):
    if "judge" in baseline and not nj.data.available("closer_look/geval"):
        pytest.skip("needs the recordings of closer_look/geval: the mirror or a network")
    with pytest.raises(ValueError, match=message):
        ablate(chats, baseline, variant)


def test_a_judge_that_is_asked_needs_a_prompt(chats):
    with pytest.raises(KeyError, match="no prompt ''; there are"):
        ablate(chats, {}, {"prompt": ""})


def test_calls_and_cost_of_a_live_judge(chats, tmp_path, monkeypatch):
    def answer(_, __, body):
        asked = json.loads(body)
        return completion([str(1 + len(asked["messages"][0]["content"]) % 3)] * asked.get("n", 1))

    with Loopback(answer) as server, Store(tmp_path / "replies.sqlite") as store:
        for name, value in (
            ("OPENAI_BASE_URL", server.url),
            ("OPENAI_API_KEY", "sk-none"),
            ("NO_PROXY", "127.0.0.1"),
            ("no_proxy", "127.0.0.1"),
        ):
            monkeypatch.setenv(name, value)
        live = {"judge": Live("test-model", store, limits=Limits(calls=30)), "price": [2.0, 10.0]}
        setups = live, live | {"prompt": "geval/dialogue_no_steps/{aspect}"}
        cost = ablate(chats, *setups, limit=3).cost
        assert (
            cost["calls"].tolist() == cost["new_calls"].tolist() == [15, 15]
            and len(server.requests) == 30
        )
        again = ablate(chats, *setups, limit=3).cost
    assert again["new_calls"].tolist() == [0, 0] and again["calls"].tolist() == [15, 15]
    # A reply of one digit counts as one token; a prompt's characters by four, and one more.
    texts = [json.loads(body)["messages"][0]["content"] for body in server.requests]
    tokens = sum(len(t) // 4 + 1 for t in texts)
    assert cost["prompt_tokens"].sum() == tokens and cost["completion_tokens"].tolist() == [15, 15]
    assert cost["cost"].sum() == pytest.approx((2 * tokens + 10 * 30) / 1e6)


def test_a_rule_costs_nothing_and_results_are_saved(chats, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    found = ablate(chats, {}, {"samples": 2})
    assert found.cost[["calls", "cost"]].to_numpy().tolist() == [[0, 0], [0, 0]]
    assert found.save("mine") == tmp_path / "sample" / "ablation" / "mine.csv"
    assert (
        found.save("mine")
        .read_text(encoding="utf-8")
        .startswith("aspect,level,coefficient,n,baseline,")
    )


@pytest.fixture(scope="module")
def real_chats():
    """The dialogues that were recorded."""
    if not nj.data.available("closer_look/geval"):
        pytest.skip("needs the recordings of A-Closer-Look")
    return nj.load("topical_chat", "real")


@pytest.fixture(scope="module")
def replayed(real_chats):
    """The judge that is read from the recording, once for all that it is asked."""
    return get_judge("replay:closer_look/geval", items=real_chats.items, missing="keep")


def test_recorded_judges(real_chats):
    """gpt-3.5-turbo-0613 on Topical-Chat, by way of the notebook of G-Eval's Table 2."""
    chats = real_chats
    twenty = {
        "judge": "replay:closer_look/geval",
        "prompt": "upstream:d223302/{aspect:.3}_geval",
        "samples": 20,
    }
    found = ablate(chats, twenty, twenty | {"samples": 1})
    parsed = nj.judging.responses(nj.recording("closer_look/geval", chats.items), scale=(1, 3))
    frame = chats.with_scores(
        nj.judging.wide({"all": nj.item_scores(parsed), "one": nj.item_scores(parsed, samples=1)})
    )
    shared = frame.dropna(subset=["all:coherence", "one:coherence"])
    expected = [
        nj.correlation(shared, f"{s}:coherence", "coherence", level="dataset").value
        for s in ("all", "one")
    ]
    assert found.result[["baseline", "variant"]].iloc[0].tolist() == pytest.approx(expected)
    assert found.cost["samples"].tolist() == [
        20 * found.cost.loc["variant", "calls"],
        found.cost.loc["variant", "calls"],
    ]
    # Without a prompt the recording's own is taken, and what was recorded may be said.
    same = ablate(chats, twenty, twenty | {"samples": 1, "prompt": "", "temperature": 1})
    assert same.result.equals(found.result)
    assert same.digests["variant: upstream:d223302/coh_geval"] != "unknown"


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"prompt": "geval/dialogue_no_steps/{aspect}"},
            "asked was prompt geval/dialogue_no_steps/coherence:",
        ),
        (
            {"prompt": "upstream:d223302/{aspect:.3}_rate_explain"},
            "asked was prompt upstream:d223302/coh_rate_",
        ),
        ({"sampling": {"temperature": 0}}, "asked was temperature=0: leave temperature out"),
        ({"temperature": 0}, "asked was temperature=0: leave temperature out"),
        ({"max_tokens": 5}, "asked was max_tokens=5: leave max_tokens out"),
        ({"logprobs": True}, "asked was logprobs=True"),
        ({"scale": [1, 10]}, r"asked was a scale of \[1, 10\] for coherence: take \[1, 3\]"),
        ({"samples": 21}, "asked was 21 replies: ask for at most 20"),
        ({"perturb": ["typos", "", 5]}, "words and perturb cannot change"),
        ({"words": {"carefully": "with care"}}, "words and perturb cannot change"),
    ],
)
def test_a_recording_never_answers_another_question(
    real_chats, replayed, change, message, monkeypatch
):
    """Each of these reported a difference of 0, p = 1: the same old replies, compared with themselves."""
    monkeypatch.setattr(
        ablation_setups, "get_judge", lambda name, **_: {"replay:closer_look/geval": replayed}[name]
    )
    setup = {"judge": "replay:closer_look/geval", "prompt": "upstream:d223302/{aspect:.3}_geval"}
    for baseline, variant in ((setup, setup | change), (setup | change, setup)):
        with pytest.raises(ValueError, match=message) as caught:
            ablate(real_chats, baseline, variant)
        said = str(caught.value)
        assert "\n" not in said
        assert "holds 20 replies an item of gpt-3.5-turbo-0613 to upstream:d223302/" in said


def test_a_recording_refuses_damaged_texts_under_their_old_keys(real_chats, replayed):
    items = real_chats.items.head(30)
    damaged = nj.dhp.perturb(items, [Perturbation("typos", "", 5)]).items.query(
        "perturbation != 'original'"
    )
    damaged = damaged.assign(item_id=damaged["original"])
    with pytest.raises(
        ValueError, match="asked was another hypothesis of .* than was judged, as a pert"
    ):
        nj.judge_items(damaged, "upstream:d223302/coh_geval", replayed)


def test_a_recording_whose_prompt_is_not_registered():
    names = [f"llm_summeval/{model}/reason_then_score" for model in ("gpt-3.5", "gpt-4")]
    if not nj.data.available(*names):
        pytest.skip("needs the recordings of LLM_summeval")
    setups = [{"judge": f"replay:{name}", "prompt": ""} for name in names]
    found = ablate(nj.load("summeval", "real"), *setups, ["fluency"], level="sample")
    assert set(found.digests.values()) == {"unknown"} and found.cost["prompt_tokens"].isna().all()
    assert found.shifts["items"].item() == 1200  # 12 of the 16 systems were judged


def changes():
    """The settings that the template's table offers, as written there."""
    template = nbformat.read(root() / "notebooks" / "template_ablation.ipynb", as_version=4)
    table = "\n".join(c.source for c in template.cells if c.cell_type == "markdown")
    return [
        ast.literal_eval(text) for text in re.findall(r"^\|[^|]+\| `(\{.*\})` \|$", table, re.M)
    ]


def test_every_change_that_the_template_offers_works(chats):
    offered = changes()
    assert {key for change in offered for key in change} >= set(ablation_setups.SETTINGS) - {
        "price",
        "max_cost",
        "top_p",
    }
    for change in offered:
        if not str(change.get("judge", "")).startswith("openai:"):
            assert len(ablate(chats, {"samples": 20}, change).result) == 1, change


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Another root, with the registry, the sample and the template."""
    (tmp_path / "notebooks").mkdir()
    shutil.copy(root() / "notebooks" / "template_ablation.ipynb", tmp_path / "notebooks")
    shutil.copytree(root() / "data" / "sample", tmp_path / "data" / "sample")
    shutil.copy(root() / "data" / "registry.csv", tmp_path / "data")
    for name, value in (
        ("ROOT", str(tmp_path)),
        ("MIRROR", ""),
        ("OFFLINE", "1"),
        ("OUT", str(tmp_path / "out")),
    ):
        monkeypatch.setenv(f"NLGJUDGE_{name}", value)
    monkeypatch.delenv("NLGJUDGE_CACHE", raising=False)
    return tmp_path


def test_new_ablation_is_named_empty_runs_and_says_its_own_change(checkout, commands, capsys):
    assert cli.main(["new", "ablation", "my_idea"]) == 0
    assert "set `change`" in capsys.readouterr().out
    path = checkout / "notebooks" / "ablation_my_idea.ipynb"
    made = nbformat.read(path, as_version=4)
    assert made.cells[0].source.startswith("# Ablation: my idea\n")
    assert not [c for c in made.cells if "template_ablation" in c.source or c.get("outputs")]
    codes = [c for c in made.cells if c.cell_type == "code"]
    assert len(made.cells) >= 2 * len(codes)  # the rule for notebooks: as much prose as code
    assert "data" not in made.metadata["nlgjudge"]
    executed = checkout / "out" / "run.ipynb"
    commands.notebook(
        path,
        executed,
        {
            "change": {"scale": [1, 10], "words": {"1-3": "1-10"}},
            "aspects": ["coherence"],
            "resamples": 50,
            "permutations": 99,
        },
    )
    saved = checkout / "out" / "sample" / "ablation" / "ablation_my_idea.csv"
    assert saved.read_text(encoding="utf-8").count("\n") == 2
    said = "".join(
        o.get("text", "")
        for c in nbformat.read(executed, as_version=4).cells
        for o in c.get("outputs", [])
    )
    assert "The correlation with people is the same for coherence, to two decimals." in said
    (drawing,) = (checkout / "out").rglob("ablation_my_idea.svg")
    drawn = " ".join(
        re.findall(r">([^<>]+)</t", drawing.read_text(encoding="utf-8"))
    )  # the texts, line by line
    assert "scale: 1 10 against none" in drawn


def test_new_ablation_has_nothing_of_the_templates_findings(checkout):
    """What came out of the template's change, its title and the title of its figure are not the new one's."""
    assert cli.main(["new", "ablation", "mine"]) == 0
    template = nbformat.read(checkout / "notebooks" / "template_ablation.ipynb", as_version=4)
    made = nbformat.read(checkout / "notebooks" / "ablation_mine.ipynb", as_version=4)
    text = "\n".join(c.source for c in made.cells)
    findings = [c.source for c in template.cells if "template-only" in c.metadata.get("tags", [])]
    assert len(findings) >= 3
    sentences = [
        s for source in findings for s in re.split(r"(?<=[.:;])\s+|\n", source) if len(s) > 20
    ]
    assert len(sentences) > 8 and not [s for s in sentences if s in text]
    for said in (
        "most frequent",
        "Most frequent",
        "one, or the",
        "twenty replies",
        "all four",
        "handful",
        "kept run",
        "free",
    ):
        assert said not in text, said
    titles = re.findall(r"title=(f?)\"", text)
    assert titles == ["f"] and "{found.change}" in text  # computed from what differs


def test_an_ablation_without_one_readable_reply_says_so():
    class Refusing:
        """A judge that refuses."""

        name = "refusing"

        def replies(self, tasks):
            for task in tasks:
                yield Reply(task.item_id, task.aspect, 0, "I cannot do that.")

    asked = {"prompt": "geval/dialogue/{aspect}"}
    with pytest.raises(
        ValueError,
        match="refusing: of 50 replies none could be read, most often refusal: there is no",
    ):
        nj.ablate(
            nj.load("topical_chat", "sample"),
            asked,
            asked | {"judge": Refusing()},
            rng=np.random.default_rng(0),
            aspects=["coherence"],
            level="dataset",
            resamples=9,
            permutations=9,
        )


def test_new_ablation_never_overwrites(checkout, capsys):
    path = checkout / "notebooks" / "ablation_mine.ipynb"
    path.write_text("mine", encoding="utf-8")
    assert cli.main(["new", "ablation", "mine"]) == 1
    assert path.read_text(encoding="utf-8") == "mine"
    assert "ablation_mine.ipynb is there already: choose another name" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["My Idea", "../x", "", "1st", "x.ipynb"])
def test_new_ablation_refuses_odd_names(checkout, capsys, name):
    assert cli.main(["new", "ablation", name]) == 1
    assert "expected lower-case letters" in capsys.readouterr().err
    assert [p.name for p in Path(checkout / "notebooks").iterdir()] == ["template_ablation.ipynb"]
