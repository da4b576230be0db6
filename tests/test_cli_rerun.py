"""`nlgjudge rerun`: the papers' rows of a model asked over HTTP, planned, stopped, gone on with and kept."""

import json
import math
import re
import shlex
import subprocess
from functools import cache

import nbformat
import pandas as pd
import pytest

import nlgjudge as nj
from loopback import Loopback, completion, error
from nlgjudge import workflow
from nlgjudge.cli import FAILED, UNFINISHED, main
from nlgjudge.ledger import ledger
from nlgjudge.notebook import reruns
from nlgjudge.notebook.rerun_requests import (
    PAPERS,
    SAMPLING,
    parts_of,
    tables_of,
    tables_of_targets,
)
from nlgjudge.workflow import run_page
from planted_judges import People


@cache
def people_on(target, limit=0):
    """What a judge that answers with people's ratings says to each prompt of one table on the sample, and its cells."""
    ((paper, artefacts),) = tables_of_targets([target]).items()
    names = dict.fromkeys(part.scope.benchmark for part in parts_of(paper, artefacts))
    judge = People([nj.load(name, "sample") for name in names])
    cells = nj.rerun(paper, artefacts, judge, source="sample", limit=limit, notebook="rerun").cells
    return judge.texts, cells


def people(targets, limit=0):
    """What such a judge says to each prompt of several tables, and the cells of all."""
    texts = {}
    cells = []
    for target in targets:
        said, found = people_on(target, limit)
        texts |= said
        cells.append(found)
    return texts, pd.concat(cells, ignore_index=True)


@pytest.fixture
def run(house, monkeypatch, capsys):
    """Run the command, as a user who has the sample and no other data."""
    environment = {"NLGJUDGE_ROOT": str(house), "NLGJUDGE_OFFLINE": "1", "NLGJUDGE_MIRROR": ""}
    environment |= {"OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NLGJUDGE_CACHE", raising=False)
    # It takes seconds; two tests write it.
    monkeypatch.setattr(workflow, "run_page", lambda folder: None)

    def command(server, line, source="sample"):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        capsys.readouterr()
        status = main(["rerun", *shlex.split(line), "--source", source])
        said = capsys.readouterr()
        return subprocess.CompletedProcess(line, status, said.out, said.err)

    return command


def folder_of(house):
    """The folder of the one rerun."""
    (folder,) = (house / "build" / "reruns").iterdir()
    return folder


def values(cells):
    """Our values by cell."""
    return cells.set_index(["row", "aspect", "level", "coefficient"])["ours"].to_dict()


def answering(texts):
    """A server that answers a prompt with what the judge says to it, and gives probabilities where asked."""

    def reply(number, where, body):
        request = json.loads(body)
        text = texts[request["messages"][-1]["content"]]
        if not request.get("logprobs"):
            return completion([text] * request.get("n", 1), model="m")
        tokens = between_two_grades(float(re.search(r"[\d.]+$", text)[0]))
        first = tokens[0] | {"top_logprobs": tokens}
        return completion([first["token"]], model="m", logprobs={"content": [first]})

    return Loopback(reply)


def between_two_grades(rating):
    """Probabilities of the two whole grades around a rating, of which it is the expected value."""
    low = math.floor(rating)
    shares = {low: 1 - (rating - low), low + 1: rating - low}
    return [
        {"token": str(grade), "logprob": math.log(share), "bytes": None, "top_logprobs": []}
        for grade, share in shares.items()
        if share > 1e-9
    ]


TARGETS = ["geval/table2", "chatgpt/table6", "coascore/table6"]


def test_reruns_of_one_judge_accumulate_on_one_page(house, run):
    """The judge's cells over HTTP are those in one process; a second run adds its tables to the first's."""
    calls = 0
    for targets in (TARGETS[:2], TARGETS[2:]):
        texts, _ = people(targets)
        line = f"{' '.join(targets)} --judge openai:m --price 1 2 --without-notebooks"
        with answering(texts) as server:
            found = run(server, line)
            paid = len(server.requests)
            calls += paid
            again = run(server, line)
            assert len(server.requests) == paid > 0  # everything is stored
        assert found.returncode == 0 == again.returncode, found.stderr
        assert found.stdout.startswith("SAMPLE: ")
    folder = folder_of(house)
    assert folder.name == "m-sample"
    _, expected = people(TARGETS)
    cells = ledger.read(folder / "cells.csv")
    tables = expected[["paper", "artefact"]].drop_duplicates()
    assert set(map(tuple, cells[["paper", "artefact"]].values)) == set(map(tuple, tables.values))
    means = reruns.read_rerun(folder).means
    # The same values in two versions appear once.
    assert set(means["paper"]) == {"geval", "chatgpt", "coascore"}
    assert (means["ours"] > 0.9).all() and means["rule"].notna().any()
    run_page(folder)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count('<table id="T_') == 3
    assert "<strong>CoAScore, Table 6, on OpenMEVA-ROC:</strong> openai:m" in page
    assert "read_rerun" not in page  # its code is in executed/judge_page.ipynb
    replies = pd.read_csv(folder / "replies.csv")
    assert set(replies["paper"]) == {"geval", "chatgpt", "coascore"}
    assert calls - len(TARGETS) <= replies["calls"].sum() <= calls and replies["cost"].sum() > 0
    assert (replies["replies"] == replies["read"]).all() and replies["sent"].notna().all()


def test_on_the_sample_nothing_is_asked_unless_it_is_requested(house, run):
    with answering({}) as server:
        line = "chatgpt/table6 --judge openai:m"
        plan = run(server, f"{line} --plan --price 1 2", source="auto")
        refused = run(server, line, source="auto")
        dhp = run(server, "dhp --judge openai:m", source="auto")
        with pytest.raises(ValueError, match="^SAMPLE: .* pass source='sample'"):
            nj.rerun("chatgpt", "table6", "openai:m")
        assert not server.requests
    assert plan.stdout.startswith("SAMPLE: ") and plan.returncode == 0
    assert re.search(r"plan: [\d,]+ calls, .* cost \d", plan.stdout)
    for command in (refused, dhp):
        assert command.stdout.startswith("SAMPLE: ") and command.returncode == FAILED
        assert "Give --source sample" in command.stderr
    assert not (house / "build").exists()


def test_a_rehearsal_counts_documents_has_no_verdicts_and_a_page_of_its_notebook(house, run):
    """Two dialogues of five responses each."""
    texts, _ = people(["geval/table2"])
    with answering(texts) as server:
        found = run(server, "geval/table2 --judge openai:m --limit 2")
        prompts = {json.loads(body)["messages"][-1]["content"] for body in server.requests}
    assert found.returncode == 0, found.stderr
    assert len(prompts) == 2 * 5 * 4
    folder = folder_of(house)
    assert folder.name == "m-limit2-sample"
    cells = ledger.read(folder / "cells.csv")
    assert len(cells) and (cells["verdict"] == "").all()
    page = (folder / "executed" / "geval_table2_topical_chat.html").read_text(encoding="utf-8")
    book = nbformat.read(folder / "executed" / "geval_table2_topical_chat.ipynb", as_version=4)
    said = reruns.read_rerun(folder).sentences("geval", "table2")[0]
    assert "Table 2, on Topical-Chat: openai:m in the place of 2 rows" in said
    assert book.cells[1].source.startswith(said) and "This run:" in page
    shown = [str(output) for cell in book.cells for output in cell.get("outputs", [])]
    same = said.rpartition(". Of ")[0]  # that replies are stored by then is the one difference
    assert any(same in text for text in shown)


def test_a_budget_is_for_all_judges_of_a_command(house, run):
    texts, _ = people(["geval/table2", "chatgpt/table6"])
    line = "geval/table2 chatgpt/table6 --judge G-EVAL-3.5=openai:a --judge G-EVAL-4=openai:b"
    line += " --judge 'ChatGPT (DA w/o ref)=openai:c'"
    with answering(texts) as server:
        stopped = run(server, f"{line} --without-notebooks --max-calls 230")
        assert stopped.returncode == UNFINISHED and len(server.requests) == 230
        assert "the same command goes on from there" in stopped.stderr
    assert {json.loads(body)["model"] for body in server.requests} == {"a", "b"}


EVIL = "<script>x</script> $x^2$ \\(x\\) [a](javascript:x) \x1b[2J `b` **c**\n# =1+1 \ud83d"


def is_inert(text, form):
    """Whether none of `EVIL` is markup; in HTML, entities and the cells' own styles are no text."""
    spoilt = [r"\x1b", "[\ud800-\udfff]"]
    if form != "text":
        spoilt += ["<script>x", r"\$x", r"\\\(x"]
    if form == "markdown":
        spoilt += [r"\]\(", "`b`", r"\*\*c", "(?m)^# ="]
    return not any(re.search(pattern, text) for pattern in spoilt)


def test_nothing_foreign_is_markup(house, run, monkeypatch):
    """A server's name for its model, its error and a judge's name, on pages, in notebooks and on a terminal."""
    texts, _ = people(["geval/table2"])
    monkeypatch.setattr(workflow, "run_page", run_page)

    def answer(number, _, body):
        request = json.loads(body)
        if number % 9 == 5:
            return error(400, EVIL)
        text = texts[request["messages"][0]["content"]]
        return completion([text] * request.get("n", 1), model=EVIL)

    line = "geval/table2 --without-logprobs --without-notebooks --judge"
    with Loopback(answer) as server:
        found = run(server, f"{line} {shlex.quote('openai:' + EVIL[:-1].replace('=', ''))}")
    assert (
        "answered by <script>x" in found.stderr and "failed, most often with: <scr" in found.stderr
    )
    assert is_inert(found.stdout, "text") and is_inert(found.stderr, "text")
    assert "eavesdropping" not in found.stderr
    folder = folder_of(house)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;x" in page and "<script>x" not in page and 'javascript:x"' not in page
    assert not re.search(r"<(strong|code)>(c|b)<", page)
    cells = re.findall(r"<table[^>]*>", page)
    assert cells and all("T_" in cell or "mathjax_ignore" in cell for cell in cells)
    saved = reruns.read_rerun(folder)
    assert is_inert(repr(saved), "text") and is_inert(saved._repr_markdown_(), "markdown")
    assert is_inert(saved.left_open().data, "markdown")
    for table in saved.tables():
        assert is_inert(repr(table), "text") and is_inert(table._repr_html_(), "html")


@pytest.mark.parametrize("labels", [[1, 2, 3, 4, 5, 4] * 4, ["pass", "fail"] * 12])
def test_no_name_is_markup_in_what_a_notebook_displays(labels):
    evil = EVIL[:-1]  # half a character is no text of a table
    name = evil.replace(":", "")  # which ends a name in a column
    table = {f"human:{name}:{name}{i}": labels[:: 1 - 2 * i] for i in range(2)}
    table |= {f"judge:j{name}": labels, "system": [f"{evil}{i % 3}" for i in range(24)]}
    table |= {"source": [f"{evil}{i // 3}" for i in range(24)], "hypothesis": ["text"] * 24}
    mine = nj.data.own_data(pd.DataFrame(table))
    chats = nj.load("topical_chat", "sample")
    base = {"judge": lambda item: len(item.hypothesis) % 5 + 1, "prompt": "{{hypothesis}} 1 to 5?"}
    base["judge"].__name__ = evil
    table = nj.Table("geval", "table2")
    table.rerun(base["judge"], source="sample")
    results = [mine, nj.report(mine), table]
    results += [nj.ablation(chats, base, {"system": evil}, ["coherence"], permutations=9)]
    for result in results:
        assert "script" in repr(result) and is_inert(repr(result), "text")
        assert is_inert(result._repr_html_(), "html")
    finding = nj.Finding("mine", "Which?", "{best} by {value:.2f}.")
    found = finding.check({"best": evil, "value": 1.0, evil: (1, 0, 2)}, judge=evil).data
    assert "script" in found and is_inert(found, "html") and "](" not in found


@pytest.mark.parametrize("is_refused", [True, False])
def test_one_sample_a_call_is_planned_again_for_all_that_a_command_asks(house, run, is_refused):
    """392 prompts of 20 samples by the judge whose server refuses, and 200 by another judge."""
    texts, _ = people(["geval/table2", "chatgpt/table6"])

    def answer(_, __, body):
        request = json.loads(body)
        if is_refused and "n" in request:
            return error(400, "n must be 1", param="n")
        return completion([texts[request["messages"][0]["content"]]], model="m")

    line = "geval/table2 chatgpt/table6 --without-notebooks --without-logprobs --judge G-EVAL-4=openai:m"
    line += " --judge openai:b --samples 20"
    with Loopback(answer) as server:
        found = run(server, f"{line} --max-calls 700")
        assert len(server.requests) == 1 and found.returncode == UNFINISHED, found.stderr
    calls = 20 * 392 + 200 - (not is_refused)
    assert (
        f"one sample a call takes {calls:,} more calls, beyond the limit: raise it" in found.stderr
    )


def test_each_judge_of_all_rows_is_a_run_of_its_own(house, run):
    texts, _ = people(["geval/table2"])
    line = "geval/table2 --judge openai:good --judge openai:noisy --without-notebooks"
    with answering(texts) as server:
        plan = run(server, f"{line} --plan")
        assert "plan: 800 calls" in plan.stdout and "openai:noisy" in plan.stdout
        assert not server.requests
        limited = run(server, f"{line} --max-calls 500")
        assert limited.returncode == UNFINISHED and len(server.requests) == 500
        found = run(server, line)
        assert found.returncode == 0 and len(server.requests) == 800, found.stderr
    assert {json.loads(body)["model"] for body in server.requests} == {"good", "noisy"}
    folders = sorted((house / "build" / "reruns").iterdir())
    assert [folder.name for folder in folders] == ["good-sample", "noisy-sample"]
    for folder, name in zip(folders, ("openai:good", "openai:noisy")):
        assert set(pd.read_csv(folder / "replies.csv")["judge"]) == {name}
        assert f"{name} in the place of 2 rows" in found.stdout


def test_rows_that_nobody_asked_are_not_unread(house, run):
    texts, _ = people(["coascore/table5"])
    with answering(texts) as server:
        found = run(server, "coascore/table5 --judge openai:m --max-calls 9 --without-notebooks")
        assert len(server.requests) == 9
    assert found.returncode == UNFINISHED and "limit of 9 calls" in found.stderr
    assert "hold no rating" not in found.stderr and "could be read" not in found.stderr
    counts = pd.read_csv(folder_of(house) / "replies.csv")
    assert counts["missing"].sum() > 0 == counts["unread"].sum()


def test_rows_that_send_the_same_are_asked_once_and_say_what_was_sent(house, run):
    """A server without token probabilities: G-Eval's two rows are then the same twenty samples."""
    texts, expected = people(["geval/table2"])
    line = "geval/table2 --judge openai:m --without-notebooks --price 0 1"

    def without(_, __, body):
        request = json.loads(body)
        return completion([texts[request["messages"][0]["content"]]] * request.get("n", 1))

    with Loopback(without) as server:
        found = run(server, line)
        again = run(server, line)
        assert len(server.requests) == 1 + len(texts)
    assert found.returncode == 0 == again.returncode, found.stderr
    # 200 prompts: one reply of five tokens each, and twenty; without probabilities, twenty once
    assert "plan: 400 calls" in found.stdout and "21,000 completion tokens" in found.stdout
    assert "20 replies an item estimate them: 20,000 completion tokens, cost 0.02" in found.stdout
    folder = folder_of(house)
    counts = pd.read_csv(folder / "replies.csv")
    assert set(counts["sent"]) == {"20 replies, temperature 1, top_p 1"}
    cells = ledger.read(folder / "cells.csv")
    assert set(cells["variant"]) == {"openai:m, 20 replies, temperature 1, top_p 1"}
    assert values(cells) == pytest.approx(values(expected), abs=0.02)


def test_a_pattern_reads_what_the_default_does_not(house, run):
    texts, expected = people(["chatgpt/table6"])
    texts = {
        prompt: re.sub(r"\D*([\d.]+).*", r"Points=<\1>, slips=<2>", text)
        for prompt, text in texts.items()
    }
    line = "chatgpt/table6 --judge openai:m --without-notebooks"
    with answering(texts) as server:
        assert run(server, line).returncode == FAILED
        found = run(server, rf"{line} --pattern 'Points=<([\d.]+)>'")
        assert len(server.requests) == len(texts)  # what is stored is read again
    assert found.returncode == 0, found.stderr
    folders = sorted((house / "build" / "reruns").iterdir())
    cells = ledger.read(folders[0] / "cells.csv")
    assert cells["ours"].tolist() == pytest.approx(expected["ours"].tolist())


def test_real_data_that_are_not_here_are_left_out_and_named(real, monkeypatch, capsys):
    """HumanMT's translations are each user's own copy."""
    real("topical_chat")
    monkeypatch.delenv("NLGJUDGE_HUMANMT", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    asked = ["--judge", "openai:m", "--plan", "--limit", "1", "--source", "real"]
    assert main(["rerun", "coascore/table2", "coascore/table4", *asked]) == 0
    said = capsys.readouterr().out
    assert "left out because the data are not here: iwslt14" in said and "topical_chat" in said


def test_mostly_unread_replies_stop_the_run_with_what_they_say(house, run):
    """Of 4 rows by 50 summaries or stories, the first row's first 50 replies are asked for."""
    texts, _ = people(["chatgpt/table6"])

    def answer(number, _, body):
        return completion([f"No {'a' * (number % 2)}."] * json.loads(body).get("n", 1))

    with Loopback(answer) as server:
        found = run(server, "geval/table2 chatgpt/table6 --judge openai:m --without-logprobs")
        assert len(server.requests) <= 50
    assert found.returncode == FAILED
    for part in ("stopped: ", "a number from 1 to 3", "--pattern", "× no_rating 'No a.'"):
        assert part in found.stderr
    # A page of a run that gave nothing.
    assert len(reruns.read_rerun(folder_of(house)).cells) == 0


def test_a_cell_needs_half_of_its_items_rated(house, run):
    """A server that answers about two in three dialogues, and one in three on one aspect."""
    texts, _ = people(["geval/table2"])
    numbers = {prompt: number for number, prompt in enumerate(texts)}

    def answer(_, __, body):
        prompt = json.loads(body)["messages"][0]["content"]
        few = "Naturalness" in prompt
        read = numbers[prompt] % 3 == 0 if few else numbers[prompt] % 3 != 0
        text = texts[prompt] if read else "I cannot say."
        return completion([text] * json.loads(body).get("n", 1))

    with Loopback(answer) as server:
        line = "geval/table2 --judge openai:m --without-logprobs --without-notebooks"
        found = run(server, line)
    cells = reruns.read_rerun(folder_of(house)).cells
    few = cells["aspect"].isin(["naturalness", "AVG"])
    assert few.any() and cells.loc[few, "ours"].isna().all()
    assert cells.loc[~few, "ours"].notna().all()
    why = "left out because fewer than half of the items are rated"
    assert f"{why}: G-EVAL-4, topical_chat, naturalness" in found.stdout


@pytest.mark.parametrize(
    "line, message",
    [
        ("gevall --judge openai:m", "no paper 'gevall': did you mean 'geval'"),
        ("dhp/figure4 --judge openai:m", "no table 'figure4'; there are discernment"),
        ("geval/table22 --judge openai:m", "no table 'table22': did you mean 'table2'"),
        ("geval --judge G-EVAL4=openai:m", "'G-EVAL4': did you mean 'G-EVAL-4'"),
        ("geval --judge G-EVAL-4=openai:m --judge G-EVAL-4=openai:n", "one judge in a run"),
        ("geval --judge openai:m --judge openai:n --judge G-EVAL-4=openai:o", "one judge in a run"),
        ("geval --judge openai:m --price 1 2 --max-cost nan", "max_cost=nan: expected finite"),
        ("geval --judge openai:m --price -1 2 --plan", "price=(-1.0, 2.0): expected finite"),
    ],
)
def test_a_slip_is_named_before_a_call(house, run, line, message):
    with answering({}) as server:
        found = run(server, line)
        assert not server.requests
    assert found.returncode == FAILED
    assert message in found.stderr and "Traceback" not in found.stderr


def test_dhp_is_planned_limited_and_on_a_page_as_the_others(house, run):
    """Two texts cannot reach D = 1, however a judge rates them."""
    line = "dhp --judge openai:m --limit 2 --price 1 1 --without-notebooks"

    def answer(_, __, body):
        return completion([str(1 + len(body) % 5)] * json.loads(body)["n"])

    with Loopback(answer) as server:
        plan = run(server, f"{line} --plan")
        assert not server.requests
        (calls,) = map(int, re.findall(r"plan: (\d+) calls", plan.stdout))
        stopped = run(server, f"{line} --max-calls 9")
        assert stopped.returncode == UNFINISHED and len(server.requests) == 9
        found = run(server, f"{line} --keep")
        assert len(server.requests) == calls
    assert found.returncode == FAILED and "dhp is not kept" in found.stderr
    folder = folder_of(house)
    kept = reruns.read_rerun(folder)
    assert len(kept.sentences()) == 6
    assert all("no D can be above 0.46" in text for text in kept.sentences())
    assert kept.counts["calls"].sum() == calls and "rehearsal on the first 2" in kept.notice.lower()
    run_page(folder)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "rehearsal" in page and page.count("<table") == 2  # D, and what was asked


def test_a_judge_that_always_says_4_says_so_in_every_place(house, run):
    with Loopback(lambda *_: completion(["4"])) as server:
        found = run(server, "chatgpt/table6 --judge openai:m --without-notebooks")
    why = "its 48 readable ratings are all 4, so there is no correlation"
    assert f"openai:m has no value: {why}" in found.stdout and "reaches" not in found.stdout
    folder = folder_of(house)
    (table, *_) = reruns.read_rerun(folder).tables()
    for shown in (repr(table), table._repr_html_()):
        assert why in shown and "Needs:" not in shown
    run_page(folder)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count(why) >= 3 and "nan" not in re.findall(r"<td>(.*?)</td>", page)


def test_a_rehearsal_is_not_kept(house, run):
    texts, _ = people(["geval/table2"])
    with answering(texts) as server:
        line = "geval/table2 --judge openai:m --limit 5 --without-notebooks --keep"
        found = run(server, line)
    assert found.returncode == FAILED and "a rehearsal on the first 5 documents" in found.stderr
    assert not (house / "paper_tables" / "reruns").exists()


# A paper with rows of several steps has its own test, in tests/papers/, and DHP's texts nobody has rated.
PLAIN = [key for key in PAPERS if key not in ("llmbar", "dhp")]


@pytest.mark.parametrize("paper", PLAIN)
def test_plan_counts_and_cost_are_those_of_the_servers_log(paper, tmp_path, monkeypatch):
    """Every table of every paper on two documents of the sample; a request that several rows share is sent once."""
    tables = tables_of(paper)
    names = dict.fromkeys(part.scope.benchmark for part in parts_of(paper, tables))
    people = People([nj.load(name, "sample") for name in names])
    given = {"source": "sample", "limit": 2, "options": {"logprobs": False}}
    nj.rerun(paper, tables, people, **given)

    def answer(_, __, body):
        request = json.loads(body)
        text = people.texts.get(request["messages"][-1]["content"], "Score: 3")
        return completion([text] * request.get("n", 1), model="m")

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        judge = nj.get_judge("openai:m", store=tmp_path / "replies.sqlite", price=(1, 2))
        plan = nj.rerun(paper, tables, judge, **given, plan_only=True).plan
        counts = nj.rerun(paper, tables, judge, **given).counts
        sent = [json.loads(body) for body in server.requests]
    assert plan["calls"].sum() == counts["calls"].sum() == len(sent) > 0
    cost = sum(10 + 4 * one.get("n", 1) for one in sent) / 1e6
    assert counts["cost"].sum() == pytest.approx(cost)
    assert len({json.dumps(one, sort_keys=True) for one in sent}) == len(sent)
    said = set()
    for one in sent:
        n = one.get("n", 1)
        parts = [f"{name} {one[name]}" for name in SAMPLING if name in one]
        said.add(", ".join(["one reply" if n == 1 else f"{n} replies", *parts]))
    assert said == set(counts["sent"])
