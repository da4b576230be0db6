"""The user's guide: what its pages show runs, offline and on the sample, and every command that they name exists."""

import contextlib
import doctest
import re
import shlex
import tomllib

import pytest

from nlgjudge.data.paths import root
from nlgjudge.repo import cli, exits

PAGES = sorted(path for path in (root() / "site" / "guide").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"^```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^```$", re.M | re.S)


def blocks(kind):
    """The guide's blocks of a kind, each as (page, text)."""
    return [
        (page, text)
        for page in PAGES
        for found, text in BLOCK.findall(page.read_text("utf-8"))
        if found == kind
    ]


def lines(kind, start=""):
    """Lines of these blocks that begin so, without comments, as (page's name, line)."""
    return [
        (page.stem, line.removeprefix(start).partition("  #")[0])
        for page, text in blocks(kind)
        for line in text.splitlines()
        if line.startswith(start)
    ]


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """A folder without data, network or key, with the files that a page shows."""
    for name, value in (
        ("ROOT", root()),
        ("MIRROR", ""),
        ("OFFLINE", 1),
        ("CACHE", tmp_path / "cache"),
        ("OUT", tmp_path / "out"),
    ):
        monkeypatch.setenv(f"NLGJUDGE_{name}", str(value))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        for name, text in FILE.findall(page.read_text("utf-8")):
            (tmp_path / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "page", dict.fromkeys(page for page, _ in blocks("pycon")), ids=lambda page: page.stem
)
def test_the_python_of_a_page_gives_what_the_page_shows(page, offline):
    """The blocks of a page run one after the other, as a reader would type them."""
    text = "\n".join(text for of, text in blocks("pycon") if of == page)
    found = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    said = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(found, out=said.append)
    assert runner.tries > 1
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("page, line", lines("console", "$ "))
def test_a_command_that_is_shown_with_a_prompt_runs_without_network_and_key(
    page, line, offline, capsys
):
    program, *arguments = shlex.split(line)
    assert program == "nlgjudge"
    status = 0
    with contextlib.suppress(SystemExit):  # --version leaves by it
        status = cli.main(arguments)
    assert status == exits.DONE
    assert capsys.readouterr().out.strip()


COMMANDS = [(page, line) for page, line in lines("sh") if line.strip()]


def test_every_way_to_install_is_there():
    shown = " ".join(line for page, line in COMMANDS if page == "install")
    for way in ("make test", "pip install", "conda env create"):
        assert way in shown


@pytest.mark.parametrize("page, line", COMMANDS)
def test_a_command_of_the_guide_exists(page, line):
    """Those that would ask a model, install or write into the checkout are not run, but read."""
    program, *arguments = shlex.split(line)
    if program == "nlgjudge":
        assert callable(cli.parser().parse_args(arguments).function)
        named = [one for one in arguments if one.endswith(".ipynb")]
    elif program == "make":
        assert re.search(f"^{arguments[0]}:", (root() / "Makefile").read_text("utf-8"), re.M)
        named = [one.partition("=")[2] for one in arguments if one.startswith("GRID=")]
    elif program == "papermill":
        named = arguments[:1]
    elif program == "pip":
        project = tomllib.loads((root() / "pyproject.toml").read_text("utf-8"))["project"]
        extras = re.findall(r"\[(\w+)\]", arguments[-1])
        assert set(extras) <= set(project["optional-dependencies"])
        named = []
    elif program == "conda":
        named = [one for one in arguments if one.endswith(".yml")]
        name = re.search(r"^name: (\w+)$", (root() / "environment.yml").read_text("utf-8"), re.M)[1]
        assert named or arguments == ["activate", name]
    else:
        assert program == "export" and arguments[0].partition("=")[0] in (
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
        )
        named = []
    assert all((root() / name).is_file() for name in named)


def test_the_guide_holds_nothing_that_no_test_reads():
    kinds = {
        kind for page in PAGES for kind in re.findall(r"^```(\S+)", page.read_text("utf-8"), re.M)
    }
    assert kinds == {"pycon", "console", "sh", "{toctree}", "{code-block}"}


def test_no_key_is_written_in_the_guide():
    said = "\n".join(page.read_text("utf-8") for page in PAGES)
    assert re.findall(r"OPENAI_API_KEY=(\S+)", said) == ["..."]
