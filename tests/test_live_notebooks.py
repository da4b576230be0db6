"""Notebooks with another judge than their own: a model on loopback that sees everything the wrong way round.

No run may die of what a judge says after its replies were paid, none may write of a judge that was not asked,
and none may enter a judge under a row that the user has not named. Data are the repository's sample.
"""

import json
from functools import cache

import pytest

import nlgjudge as nj
from loopback import Loopback, completion
from nlgjudge.data.paths import root
from nlgjudge.ledger import ledger

MODEL = "wrong-headed"
JUDGE = f"openai:{MODEL}"
DISCERNMENT = "dhp_discernment"
# Simulated judges and the bootstrap are not about the judge that is asked.
FEW = {"simulations": 10, "resamples": 10}


def constant(text):
    """The same rating for everything."""
    return "1"


def original_is_worse(text):
    """The highest rating for a perturbed text, the lowest for the original."""
    return "1" if any(original in text for original in originals()) else "5"


@cache
def originals():
    return list(nj.dhp.originals(nj.load("summeval", "sample"))["hypothesis"])


def shorter_is_better(text):
    """A rating from 1 to 3 that falls with the length of what is rated."""
    return str(3 - min(len(text) // 1500, 2))


def silent_on_perturbed(text):
    """A rating for an original, and none for a perturbed text."""
    return "3" if original_is_worse(text) == "1" else "I would rather not say."


@pytest.fixture(scope="module")
def lexical(tmp_path_factory):
    """A folder for ROUGE, BLEU and METEOR of the sample, which are the same whoever judges."""
    return tmp_path_factory.mktemp("lexical")


@pytest.fixture
def ask(tmp_path, monkeypatch, lexical, run_cells, capsys):
    """Run a notebook on the sample with models that answer so, each named as what it does, and the first `MODEL` too.

    Gives its names, the text of its outputs and the requests.
    """
    house = tmp_path / "house"
    (house / "data" / "cache").mkdir(parents=True)
    (house / "data" / "cache" / "lexical").symlink_to(lexical)
    for name in (
        "data/registry.csv",
        "data/sample",
        "data/README.md",
        "paper_tables",
        "notebooks",
        "site",
    ):
        (house / name).parent.mkdir(parents=True, exist_ok=True)
        (house / name).symlink_to(root() / name)
    monkeypatch.setenv("NLGJUDGE_ROOT", str(house))  # its own store of replies
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(house / "notebooks")

    def asked(name, *answers, **parameters):
        models = {MODEL: answers[0]} | {answer.__name__: answer for answer in answers}

        def reply(number, where, body):
            request = json.loads(body)
            text = models[request["model"]](request["messages"][-1]["content"])
            return completion([text] * request.get("n", 1), model=request["model"])

        with Loopback(reply) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            names = run_cells(name, **{"source": "sample", "judge": JUDGE} | parameters)
        return names, "\n".join([capsys.readouterr().out, *run_cells.shown]), server.requests

    return asked


@pytest.mark.parametrize(
    "answers",
    [[constant], [original_is_worse, silent_on_perturbed]],
    ids=["alone", "two"],
)
def test_discernment_of_wrong_headed_judges(answers, ask):
    """The page says how a judge rates perturbed texts; it does not insist that they are rated lower."""
    judges = [f"openai:{answer.__name__}" for answer in answers]
    given = judges if len(judges) > 1 else judges[0]
    _, text, requests = ask(DISCERNMENT, *answers, limit=4, **FEW, judge=given)
    models = [json.loads(body)["model"] for body in requests]
    for judge in judges:
        # Texts, versions, aspects; what cannot be read may be asked again.
        assert judge in text and models.count(judge.removeprefix("openai:")) >= 4 * 2 * 4


def test_several_judges_share_a_run(ask):
    """Both formulas are there, and no expert weights."""
    names, text, requests = ask(
        DISCERNMENT,
        original_is_worse,
        judge=[JUDGE, "surface"],
        limit=2,
        form="as_printed",
        **FEW,
    )
    assert {json.loads(body)["n"] for body in requests} == {5}
    assert f"(a) SummEval, {JUDGE}: " in text and "(a) SummEval, surface: " in text
    assert "D_avg above 1, normalised" in text and "EW" not in names["shown"].to_string()


def test_votes_of_one_task_weigh_that_task_alone(ask, tmp_path):
    """Votes on summaries give the two summary datasets a weighed D; the other four have none to be drawn."""
    votes = tmp_path / "votes.csv"
    kinds = nj.paper("dhp").method["perturbations"]
    names = sorted({kind["name"] for kind in kinds if "summeval" in kind["datasets"]})
    lines = [f"summarization,{name},fluency" for name in names]
    votes.write_text("\n".join(["task,perturbation,metric", *lines]) + "\n", encoding="utf-8")
    ran, _, _ = ask(DISCERNMENT, constant, judge="surface", limit=2, votes=str(votes), **FEW)
    values = ran["shown"].xs("D_avg_EW", level="statistic")[[*ran["titles"].values()]]
    assert len(values) == 1 + 3  # the rule and the simulated judges
    assert ((values != "") == [True, True, False, False, False, False]).all(axis=None)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"judge": ["GPT4", JUDGE]}, "judge 'GPT4': expected openai:MODEL"),
        ({"form": "printed"}, "form='printed': expected one of"),
    ],
)
def test_a_mistake_is_refused_before_a_call_is_paid(parameters, message, run_cells, serve):
    server = serve(lambda *_: completion(["1"]))
    with pytest.raises(ValueError, match=message):
        run_cells(DISCERNMENT, **{"source": "sample", "judge": JUDGE} | parameters)
    assert not server.requests


def test_a_judge_is_shown_beside_the_printed_rows(ask, tmp_path):
    """Topical-Chat's sample under both rows of the paper; a sample enters no ledger."""
    _, text, requests = ask("geval_table2_topical_chat", shorter_is_better, limit=4)
    replies = sum(json.loads(body).get("n", 1) for body in requests)
    # No probabilities, which one request finds out: the first row is estimated from the samples of the second.
    assert replies == 1 + 20 * 4 * 20
    assert "the items are the sample's, not the papers'" in text
    shown = text.split("items are the sample's")[1]
    assert "G-EVAL-3.5 " in shown and "G-EVAL-4 " in shown
    part = tmp_path / "out" / "sample" / "ledger" / "geval_table2_topical_chat.csv"
    assert not ledger.read(part)["row"].str.startswith("G-EVAL").any()


def test_a_judge_of_single_rows(ask):
    """Sentences of BAGEL's sample, two rows of four; informativeness is asked with a reference alone."""
    rows = ["ChatGPT (DA w/o ref)", "ChatGPT (Stars w/ ref)"]
    _, text, requests = ask(
        "chatgpt_table7_bagel",
        shorter_is_better,
        judge=dict.fromkeys(rows, JUDGE),
        stemmers=["porter"],
        limit=7,
        permutations=99,
    )
    assert len(requests) == 7 * 3 * (2 + 3)
    assert all(row in text for row in rows)
