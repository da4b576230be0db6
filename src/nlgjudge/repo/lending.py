"""A process that lends others its METEOR 1.5, and that ends with the one that started it."""

import ctypes
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

from nlgjudge.metrics import java_meteor

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl


@contextmanager
def lending():
    """Lend one METEOR 1.5 to all processes that are started meanwhile (`nlgjudge.metrics.java_meteor`).

    On Linux alone; elsewhere each process starts its own.
    """
    if sys.platform != "linux":
        yield
        return
    with tempfile.TemporaryDirectory(prefix="nlgjudge-") as folder:
        address = str(Path(folder, "meteor"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen(64)
            lender = multiprocessing.get_context("fork").Process(target=_lend, args=(listener,))
            lender.start()
        before = os.environ.get(java_meteor.LENT)
        os.environ[java_meteor.LENT] = address
        try:
            yield
        finally:
            del os.environ[java_meteor.LENT]
            if before is not None:
                os.environ[java_meteor.LENT] = before
            lender.terminate()
            lender.join()


def _lend(listener):
    end_with_parent()
    os.setpgid(0, 0)  # Ctrl-C is for those who ask
    java_meteor.lend(listener)


def end_with_parent():
    """Have the system end this process when the one that started it ends."""
    parent = os.getppid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended in between
        os._exit(1)
