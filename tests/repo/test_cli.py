"""The command line's help: an example of each command, which its parser and the command's function take."""

import argparse
import errno
import inspect
import re
import shlex
import subprocess
import sys
from importlib import import_module

import pytest

from nlgjudge.repo import cli


def parsers(parser):
    """A parser and those of all its commands, also of those that its help does not list."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from parsers(command)


COMMANDS = {parser.prog: parser for parser in parsers(cli.parser())}


def examples(text):
    """Command lines in a help text, each as a list of words."""
    joined = text.replace("\\\n", " ")
    return [shlex.split(line) for line in re.findall(r"^  (nlgjudge .*)", joined, re.MULTILINE)]


def test_the_commands_are_those_of_the_readme():
    named = {prog.split()[1] for prog in COMMANDS if " " in prog}
    assert {"data", "prompts", "judge", "replies", "rerun", "ledger", "new"} <= named
    assert {"nlgjudge data fetch", "nlgjudge replies forget"} <= set(COMMANDS)


@pytest.mark.parametrize("prog", COMMANDS)
def test_help_has_one_example_that_parses(prog, capsys):
    with pytest.raises(SystemExit):
        cli.main([*prog.split()[1:], "--help"])
    said = capsys.readouterr().out
    assert said.count("\nexample:\n  nlgjudge ") == 1 and "None" not in said
    for words in examples(said):
        assert words[: len(prog.split())] == prog.split()
        options = vars(cli.parser().parse_args(words[1:]))
        home, name = options.pop("function").args
        del options["traceback"]
        function = getattr(import_module(f"nlgjudge.repo.{home}"), name)
        inspect.signature(function).bind(**options)


def test_the_options_of_asking_are_those_that_a_judge_is_opened_with():
    from nlgjudge.repo import asking

    command = "judge summeval surface --prompts geval/summarization/"
    options = vars(cli.parser().parse_args(command.split()))
    own = {*inspect.signature(asking.rate).parameters, "function", "traceback"}
    assert set(options) - own == set(asking.Asking._fields)


def test_help_reads_none_of_the_heavy_modules():
    """A command's module is imported when it runs."""
    code = (
        "import sys; from nlgjudge.repo import cli; cli.parser().format_help(); "
        "print(sorted({'pandas', 'numpy', 'openai', 'papermill', 'nbformat'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(monkeypatch, capsys):
    from nlgjudge.repo import data_files

    def refuse(benchmarks, declared):
        raise OSError(errno.EROFS, "Read-only file system", "data/cache/x")

    monkeypatch.setattr(data_files, "fetch", refuse)
    assert cli.main(["data", "fetch"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("nlgjudge: data/cache/x: Read-only file system; ")
    assert "NLGJUDGE_CACHE" in said and "NLGJUDGE_OUT" in said and said.count("\n") == 1
