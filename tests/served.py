"""`nlgjudge` commands in copies of one process, as `make reproduce` runs its notebooks (`nlgjudge.repo.serving`).

A command still has a process, an environment, a folder and streams of its own, and a notebook a kernel; only what
all of them import is imported once. How a command starts from nothing is tested where it is started so.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from unittest.mock import patch

from nlgjudge.repo import serving
from nlgjudge.repo.notebooks import NotebookError

COMMAND = [sys.executable, "-m", "nlgjudge.repo.cli"]
# Beside what `nlgjudge serve` imports for a run of all notebooks, what many of the tests' commands import: a client.
# It reads the machine's certificates once and not for each prompt that is asked, as in the tests' own process.
# What follows `-c` is a program, as Python has it; it imports `nlgjudge` anew, and its notebooks have a new kernel.
SERVE = """import functools, os, ssl, sys, tempfile
from nlgjudge.repo import cli, forked
def main(arguments):
    if arguments[0] != "-c":
        return command(arguments)
    for name in [name for name in sys.modules if name.partition(".")[0] == "nlgjudge"]:
        del sys.modules[name]
    forked.KernelProvisionerFactory.instance().default_provisioner_name = "local-provisioner"
    tempfile.tempdir = None
    sys.path[:0] = ["", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    _, code, *sys.argv[1:] = arguments
    exec(compile(code, "<string>", "exec"), dict(__name__="__main__"))
command, cli.main = cli.main, main
forked.COMMON += {more}
ssl.create_default_context = functools.lru_cache(ssl.create_default_context)
sys.exit(command(["serve", *sys.argv[1:]]))"""


class Served:
    """The process, as a context manager; its environment says which `nlgjudge` it imports, `more` what beside it.

    With an `address`, the process that another one started and ends.
    """

    def __init__(self, environment=None, more=("openai",), address=""):
        self._given = environment
        self._code = SERVE.format(more=more)
        self._address = address
        self._server = None

    def __enter__(self):
        if self._address:
            return self
        says_where = ["sh", "-c", f'echo "${serving.SOCKET}"; exec cat']
        self._server = subprocess.Popen(
            [sys.executable, "-c", self._code, *says_where],
            text=True,
            env=self._given,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._address = self._server.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        if not self._server:
            return
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()

    @property
    def address(self):
        """Where others find the process; empty on a system where no copies are made."""
        return self._address

    @property
    def environment(self):
        """What a command's environment has to hold, so that the notebooks of `nlgjudge serve` in it are run here."""
        return {serving.SOCKET: self._address} if self._address else {}

    def run(self, *arguments, **environment):
        """Run a command in this process's folder and environment, and those variables; as `subprocess.run` does."""
        if not self._address:  # a system where no copies are made
            command = [sys.executable] if arguments[0] == "-c" else COMMAND
            return subprocess.run(
                [*command, *arguments],
                env=os.environ | environment,
                capture_output=True,
                text=True,
                check=False,
            )
        with ExitStack() as stack:
            stack.enter_context(
                patch.dict(os.environ, environment | {serving.SOCKET: self._address})
            )
            streams = [
                stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
                for _ in range(3)
            ]
            status = serving.ask(list(arguments), [stream.fileno() for stream in streams])
            assert status is not None, "the process that runs commands has ended"
            said = []
            for stream in streams[1:]:
                stream.seek(0)
                said.append(stream.read())
        return subprocess.CompletedProcess(arguments, status, *said)

    def notebook(self, path, output, parameters):
        """Execute a notebook; as `nlgjudge.repo.notebooks.run` does, with the same error."""
        values = [
            text for name, value in parameters.items() for text in ("-p", name, json.dumps(value))
        ]
        failed = output.with_suffix(".failed.txt")
        done = self.run("run", str(path), "-o", str(output), *values)
        if failed.exists():
            raise NotebookError(failed.read_text(encoding="utf-8"))
        assert done.returncode == 0, done.stdout + done.stderr
