"""Snakemake in copies of one process that has imported it, for tests that start it often.

Each start is still a process with a folder, an environment and streams of its own. How the commands start Snakemake
from nothing is tested where they run something for the first time.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

COPIES = """import gc, json, os, socket, sys
import smart_open, snakemake.cli, yte
import nlgjudge.repo.notebooks, nlgjudge.repo.sweep, nlgjudge.repo.workflow
from nbformat.validator import get_validator
snakemake.cli.get_argument_parser()  # reads the plugins
get_validator(version=4, version_minor=5)
gc.freeze()
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    print("ready", flush=True)
    while True:
        connection = listener.accept()[0]
        request, streams, _, _ = socket.recv_fds(connection, 1_000_000, 3)
        copy = os.fork()
        if not copy:
            break
        for stream in streams:
            os.close(stream)
        connection.send(str(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])).encode())
        connection.close()
connection.close()
for number, stream in enumerate(streams):
    os.dup2(stream, number)
    os.close(stream)
folder, environment, options = json.loads(request)
os.chdir(folder)
os.environ.clear()
os.environ.update(environment)
sys.argv = ["snakemake", *options]
try:
    snakemake.cli.main(options)
except SystemExit as ended:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ended.code or 0)  # to take all modules apart would cost more than what was done
"""
COMMAND = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
    asked.connect({address!r})
    request = json.dumps([os.getcwd(), dict(os.environ), sys.argv[1:]]).encode()
    socket.send_fds(asked, [request], [0, 1, 2])
    sys.exit(int(asked.recv(100)))
"""


class SnakemakeCopies:
    """The process, as a context manager; `environment` says which `nlgjudge` it imports."""

    def __init__(self, environment):
        self.environment = environment

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._address = str(Path(self._folder.name, "socket"))
        self._process = subprocess.Popen(
            [sys.executable, "-c", COPIES, self._address],
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()

    @property
    def path(self):
        """A PATH on which `snakemake` is a copy."""
        command = Path(self._folder.name, "snakemake")
        command.write_text(
            COMMAND.format(python=sys.executable, address=self._address), encoding="utf-8"
        )
        command.chmod(0o755)
        return os.pathsep.join(
            [self._folder.name, str(Path(sys.executable).parent), os.environ["PATH"]]
        )

    def run(self, folder, options, log, environment):
        """Run it in a folder; what it returned and what it said, which is kept in the file `log`."""
        request = json.dumps([str(folder), {**environment}, [*options]]).encode()
        with (
            log.open("w", encoding="utf-8") as words,
            open(os.devnull, encoding="utf-8") as nothing,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked,
        ):
            asked.connect(self._address)
            socket.send_fds(asked, [request], [nothing.fileno(), words.fileno(), words.fileno()])
            status = int(asked.recv(100))
        return status, log.read_text(encoding="utf-8")

    def planned(self, folder, options, log, environment):
        """What a dry run says of the jobs that it would start in a folder."""
        status, words = self.run(folder, [*options, "--dry-run"], log, environment)
        assert status == 0, words
        return words
