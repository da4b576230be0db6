"""The command line: an example in each command's help, data, prompts, replies."""

import re
import shlex

import click
import pytest

import nlgjudge as nj
from loopback import completion
from nlgjudge.cli import INTERRUPTED, cli, main
from nlgjudge.data.paths import root

NAMES = ("data", "prompts", "replies", "rerun", "ledger")


def commands(group, path=()):
    """Every command below a group, with its path."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_the_commands_are_those_of_the_readme(capsys):
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert tuple(cli.list_commands(None)) == tuple(sorted(NAMES))
    assert all(re.search(rf"^  {name} ", said, re.M) for name in NAMES)
    named = re.findall(r"(?:^|`)nlgjudge ([a-z]+)", (root() / "README.md").read_text(), re.M)
    assert named and set(named) <= set(NAMES)


def test_each_command_has_an_example_that_it_takes(capsys):
    for path, one in commands(cli):
        assert main([*path, "--help"]) == 0
        said = capsys.readouterr().out
        examples = re.findall(r"^ +nlgjudge (.*)$", said.replace("\\\n", " "), re.M)
        assert said.count("Example:") == 1 and examples
        for line in examples:
            words = shlex.split(line)
            assert tuple(words[: len(path)]) == path
            one.make_context(path[-1], words[len(path) :])  # its options are known


@pytest.mark.parametrize(
    "line, spared",
    [
        ("--help", {"numpy", "pandas", "scipy", "openai"}),
        ("rerun geval/table2 --judge openai:m --plan", {"scipy.stats", "matplotlib", "openai"}),
    ],
)
def test_a_command_imports_only_what_it_uses(line, spared, commands):
    """A second each for what a plan needs none of."""
    program = (
        f"import sys; from nlgjudge.cli import main; status = main({shlex.split(line)}); "
        f"print({spared} & {{*sys.modules}}); sys.exit(status)"
    )
    done = commands.run("-c", program, NLGJUDGE_MIRROR="", NLGJUDGE_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\nset()\n")


def test_a_slip_is_named_with_the_near_ones(capsys):
    assert main(["juge"]) == 2
    assert "No such command 'juge'" in capsys.readouterr().err
    assert main(["data", "list", "sumeval"]) == 1
    assert "benchmarks with files: alttest, answer_equivalence" in capsys.readouterr().err
    assert main(["prompts", "show", "geval/summarization/coherance"]) == 1
    assert "did you mean 'geval/summarization/coherence'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line, instead",
    [
        ("judge topical_chat surface", "nlgjudge rerun"),
        ("export build", "site/every_eval_ever.py"),
        ("replies drop --reason refusal", "Store(FILE).drop"),
    ],
)
def test_a_command_that_left_says_what_replaces_it(line, instead, capsys):
    assert main(line.split()) == 2
    assert instead in capsys.readouterr().err


@pytest.mark.parametrize(
    "use, error, instead",
    [
        (lambda: nj.stats.few_labels, AttributeError, "assisted_mean"),
        (lambda: nj.get_judge("batch:m"), ValueError, "openai:MODEL"),
        (lambda: nj.get_judge("openai:m", max_calls=3), TypeError, "Budget"),
        (lambda: nj.Table("geval", "table1").verdict, AttributeError, "answer"),
    ],
)
def test_a_name_that_left_says_what_replaces_it(use, error, instead):
    with pytest.raises(error, match=f"any more: .*{instead}"):
        use()


def test_prompts_and_data_are_listed(capsys):
    main(["prompts", "list"])
    assert "geval/summarization/coherence\n" in capsys.readouterr().out
    main(["prompts", "show", "geval/summarization/coherence"])
    assert "scale [1, 5]" in capsys.readouterr().out
    main(["data", "list", "openmeva"])
    assert re.search(r"^openmeva +data +\d/1 ", capsys.readouterr().out, re.M)


def test_an_interrupt_is_one_line(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("nlgjudge.judging.prompts.names", interrupted)
    assert main(["prompts", "list"]) == INTERRUPTED
    said = capsys.readouterr().err.strip()
    assert said.startswith("nlgjudge: interrupted: ") and said.count("\n") == 0


def test_replies_are_exported_and_imported(serve, tmp_path, capsys):
    serve(lambda *_: completion(["Score: 3"]))
    mine, other = tmp_path / "mine.sqlite", tmp_path / "other.sqlite"
    chats = nj.load("topical_chat", "sample")
    # One document of five responses.
    nj.judge_items(chats.items, "geval/dialogue/coherence", "openai:m", limit=1, store=mine)
    file = str(tmp_path / "replies.jsonl")
    assert main(["replies", "export", file, "--store", str(mine)]) == 0
    assert main(["replies", "import", file, "--store", str(other)]) == 0
    assert f"5 replies in {other}" in capsys.readouterr().out
