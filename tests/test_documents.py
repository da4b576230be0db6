"""The examples of README, CONTRIBUTING and the guide work as they say; docstrings name what exists."""

import ast
import doctest
import pkgutil
import re
import shlex
from importlib.metadata import version

import pytest

import nlgjudge as nj
from nlgjudge.cli import main
from nlgjudge.data.paths import root

PAGES = [root() / "README.md", root() / "CONTRIBUTING.md", *sorted(root().glob("site/guide/*.md"))]


def blocks(page, kind):
    """Contents of a page's code blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page(page, tmp_path, monkeypatch, capsys):
    """On the sample, in a folder with the files that the page shows."""
    monkeypatch.setenv("NLGJUDGE_ROOT", str(root()))
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, r"\{code-block\} text"):
        name, content = re.fullmatch(r":caption: (.*?)\n\n(.*)", block, re.S).groups()
        (tmp_path / name).write_text(content, encoding="utf-8")
    for command in re.findall(r"^\$ nlgjudge (.*)$", "".join(blocks(page, "console")), re.M):
        assert main(shlex.split(command)) == 0, capsys.readouterr().err
    examples = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    # A page breaks a long sentence.
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0, capsys.readouterr().out


def test_the_readme_is_short_and_its_commands_are_there(tmp_path, monkeypatch, capsys):
    """With a rule in the place of the model, on the sample."""
    readme = PAGES[0].read_text(encoding="utf-8")
    assert len(readme.split()) <= 900
    makefile = (root() / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"(?:^|`)make ([a-z]+)", readme, re.M)
    assert {"reproduce", "test"} <= {*targets}
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGJUDGE_OFFLINE", "1")
    monkeypatch.setenv("NLGJUDGE_MIRROR", "")
    monkeypatch.setenv("NLGJUDGE_CACHE", str(tmp_path / "cache"))
    commands = re.findall(r"^nlgjudge ([^#\n]*)", "".join(blocks(PAGES[0], "sh")), re.M)
    assert len(commands) > 1
    for command in commands:
        assert main(shlex.split(command.replace("openai:MODEL", "surface"))) == 0, (
            capsys.readouterr()
        )


def test_the_pages_have_examples():
    assert sum(len(blocks(page, "pycon")) for page in PAGES) > 5


def named(path):
    """Names below the package in a module's docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    for node in nodes:
        text = isinstance(node, documented) and ast.get_docstring(node)
        for name in re.findall(r"(?<![\w./-])(?:nlgjudge|nj)((?:\.\w+)+)", text or ""):
            yield f"nlgjudge{name}"


def test_what_docstrings_name_exists():
    names = {name: path for path in (root() / "src").rglob("*.py") for name in named(path)}
    assert len(names) > 50
    for name, path in names.items():
        assert pkgutil.resolve_name(name) is not None, (name, path)


def test_the_version_is_that_of_the_distribution():
    assert nj.__version__ == version("nlgjudge")


def test_what_pages_say_of_intervals_and_tests_is_what_the_notebook_measured():
    """README's false alarms, and the glossary's coverage."""
    values = nj.Finding("beyond_statistics_validity").values
    readme, glossary = (
        " ".join((root() / name).read_text(encoding="utf-8").split())
        for name in ("README.md", "site/glossary.md")
    )
    items, documents = (
        f"{values[f'false alarms, {units} swapped'].value:.0%}" for units in ("items", "documents")
    )
    assert f"{items} of comparisons if it swaps items, and in {documents} if it swaps" in readme
    judges = nj.ledger.judges().query(
        "benchmark == 'summeval' and aspect == 'AVG' and level == 'sample' and coefficient == 'spearman'"
    )
    recorded = judges[judges["kind"] == "recorded by others"]["value"]
    assert f"{recorded.min():.2f} to {recorded.max():.2f} (mean Spearman" in readme
    assert f"one expert agrees with the others at {judges['people'].iloc[0]:.2f}" in readme
    for population in ("far documents", "nearly always right", "ceiling"):
        assert f"in {values[f'coverage in planted populations, {population}']}" in glossary
    noticed = values["intervals with a notice in planted populations"]
    assert f"{noticed} of the intervals have one" in glossary
