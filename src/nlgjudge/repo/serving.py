"""One process that runs notebooks for commands which ask it to: `nlgjudge serve COMMAND`.

Snakemake starts a command for each notebook. Where the command that it runs in, `nlgjudge serve`, holds a
socket open, `nlgjudge run` hands its arguments, folder, environment and streams over and waits; the work is
done by a copy of the serving process, which has imported what notebooks need (`nlgjudge.repo.forked`). It
imports when it is first asked, so that nothing is lost where no notebook has to run. The copy ends with its
client, and everything ends with the server. A server within another leaves the work to that one.

On systems where no copies are made, nobody serves, and `nlgjudge run` does the work itself.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from nlgjudge.repo import exits
from nlgjudge.repo.lending import lending

SOCKET = "NLGJUDGE_SERVER"  # the variable that names it
_PATIENCE = 10  # seconds that a runner has to end after its client did
_LENGTH = struct.Struct("!I")


def serve(command):
    """Run a command, and meanwhile the notebooks that commands in it ask for.

    Parameters
    ----------
    command : list of str

    Returns
    -------
    int
        Its exit status.
    """
    if sys.platform != "linux" or os.environ.get(SOCKET):
        return subprocess.run(command, check=False).returncode
    with (
        lending(),
        tempfile.TemporaryDirectory(prefix="nlgjudge-") as folder,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        address = str(Path(folder, "socket"))
        listener.bind(address)
        listener.listen(64)
        # Ctrl-C reaches the command as well, which ends its own; a handler, unlike SIG_IGN, is not inherited.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        running = subprocess.Popen(command, env=os.environ | {SOCKET: address})
        jobs = {}
        try:
            while running.poll() is None:
                _attend(listener, jobs)
        finally:
            for connection, runner in list(jobs.items()):
                _end(connection, runner)
            if running.poll() is None:
                running.kill()
                running.wait()
            signal.signal(signal.SIGINT, before)
    return exits.INTERRUPTED if running.returncode == -signal.SIGINT else abs(running.returncode)


def ask(arguments, streams=(0, 1, 2)):
    """Have the server run ``nlgjudge`` with these arguments.

    Parameters
    ----------
    arguments : list of str
        Of the command line.
    streams : sequence of int
        File descriptors that are to be its standard input, output and error.

    Returns
    -------
    int or None
        The exit status; None where there is no server, so that the caller does the work itself.

    Raises
    ------
    RuntimeError
        Where the server, or the process that did the work, ended before it said how that went.
    """
    address = os.environ.get(SOCKET)
    if not address:
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
        except OSError:
            return None
        environment = {name: value for name, value in os.environ.items() if name != SOCKET}
        request = json.dumps([arguments, os.getcwd(), environment]).encode()
        socket.send_fds(connection, [_LENGTH.pack(len(request))], list(streams))
        connection.sendall(request)
        answer = _receive(connection, _LENGTH.size)
    if answer is None:
        raise RuntimeError(
            f"{' '.join(arguments)}: the process that serves notebooks ended; run it again"
        )
    (status,) = _LENGTH.unpack(answer)
    return status


def _receive(connection, size):
    """So many bytes; None where the other end closed before."""
    parts = b""
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            return None
        parts += part
    return parts


def _attend(listener, jobs):
    """Wait a little for something to do, and do it."""
    from multiprocessing.connection import wait

    ends = {runner.sentinel: connection for connection, runner in jobs.items()}
    for ready in wait([listener, *jobs, *ends], timeout=0.1):
        if ready is listener:
            connection, _ = listener.accept()
            runner = _begin(connection, listener, jobs)
            if runner:
                jobs[connection] = runner
        elif ready in ends and ends[ready] in jobs:
            connection = ends[ready]
            runner = jobs.pop(connection)
            runner.join()
            with suppress(OSError):  # the client may be gone
                connection.sendall(_LENGTH.pack(abs(runner.exitcode)))
            connection.close()
        elif ready in jobs:  # a client sends nothing more: it has ended
            _end(ready, jobs.pop(ready))


def _begin(connection, listener, jobs):
    """Start the work that a client asks for, in a copy of this process."""
    from nlgjudge.repo import forked

    forked.preload()
    connection.settimeout(_PATIENCE)
    head, streams, _, _ = socket.recv_fds(connection, _LENGTH.size, 3)
    body = _receive(connection, *_LENGTH.unpack(head)) if len(head) == _LENGTH.size else None
    if body is None:
        connection.close()
        return None
    connection.settimeout(None)
    inherited = [listener, connection, *jobs]
    sys.stdout.flush()
    runner = forked.context().Process(target=_work, args=(json.loads(body), streams, inherited))
    runner.start()
    for stream in streams:
        os.close(stream)
    return runner


def _work(request, streams, inherited):
    """Be the command that the client was started as."""
    from nlgjudge.repo import cli, forked

    for each in inherited:
        each.close()
    arguments, folder, environment = request
    os.setpgid(0, 0)  # Ctrl-C comes by way of the client
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    forked.become_runner()
    sys.exit(cli.main(arguments))


def _end(connection, runner):
    """End a runner whose client is gone: as Ctrl-C does, and by force where that does not help."""
    connection.close()
    deadline = time.monotonic() + _PATIENCE
    with suppress(ProcessLookupError):
        os.kill(runner.pid, signal.SIGINT)
    runner.join(max(0, deadline - time.monotonic()))
    if runner.exitcode is None:
        runner.kill()
        runner.join()
