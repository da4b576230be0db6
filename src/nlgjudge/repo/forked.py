"""Processes for notebooks that start at once: copies of one that has imported what all of them import.

A notebook needs two processes, one that runs it and the kernel. Starting Python, IPython, numpy, pandas and
scipy twice takes some three seconds of a processor's time; a copy of a process takes hundredths. The copy for
the kernel is made before the runner does anything, so that neither threads nor open sockets are copied, and
it forgets every module of this package: what a notebook has loaded and noted is its own. Each notebook has
processes of its own, and no state passes from one to the next.

Copies are made on Linux alone. Elsewhere processes and kernels start anew, as they do without this module.
"""

import builtins
import gc
import importlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from pathlib import Path
from types import SimpleNamespace

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from nlgjudge.repo.lending import end_with_parent

# Whose import costs most. None of them starts a thread or opens a file that stays open.
COMMON = (
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "pandas",
    "matplotlib.figure",
    "matplotlib.font_manager",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "seaborn",
    "IPython.core.interactiveshell",
    "IPython.core.completerlib",
    "IPython.core.oinspect",
    "ipykernel.kernelapp",
    "ipykernel.debugger",
    "pdb",
    "psutil",
    "nltk",
    "nbclient",
    "papermill",
)
# Modules of this package that compile many patterns. A kernel imports them anew, and `re` still knows the patterns.
_PATTERNS = ("nlgjudge.judging.parsing", "nlgjudge.judging.prompts")
_LOOK_AROUND = ("pandas", "matplotlib")
_ready = False  # whether this process, or the one it is a copy of, has imported them
_set_by_imports = {}  # what libraries put into the environment when they were imported here
_spare = []  # the kernel to be of this process, while nobody has taken it


def can_fork():
    """Say whether copies of a process are made on this system: on Linux alone."""
    return sys.platform == "linux"


def context():
    """How processes for notebooks are started here.

    Returns
    -------
    multiprocessing.context.BaseContext
    """
    return multiprocessing.get_context("fork" if can_fork() else "spawn")


def preload():
    """Import what notebooks and their runner import, as a kernel would, where copies of this process are to have it.

    pandas and matplotlib look, while they are imported, for a kernel and its way of showing figures. Where they
    were imported before, without one, kernels start anew.
    """
    global _ready
    if _ready or not can_fork() or any(name in sys.modules for name in _LOOK_AROUND):
        return
    before = dict(os.environ)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as ipykernel sets it
    builtins.get_ipython = lambda: SimpleNamespace(kernel=None)
    try:
        for name in (*COMMON, *_PATTERNS):
            importlib.import_module(name)
    finally:
        del builtins.get_ipython
        del os.environ["MPLBACKEND"]
        if "MPLBACKEND" in before:
            os.environ["MPLBACKEND"] = before["MPLBACKEND"]
    _set_by_imports.update(
        (name, value) for name, value in os.environ.items() if name not in before
    )
    # Compiled once: every runner checks its notebook by the format's schema.
    importlib.import_module("nbformat.validator").get_validator(version=4, version_minor=5)
    # The tables here are small: Arrow's way of keeping texts, pandas' own, costs more for each of them than it saves.
    importlib.import_module("pandas").options.mode.string_storage = "python"
    gc.freeze()  # what is never collected stays shared memory
    _ready = True


def each(tasks):
    """Run functions, each in a process of its own that is a notebook's runner, as many at once as there are cores.

    Parameters
    ----------
    tasks : dict
        By name, a function at module level and its arguments.

    Yields
    ------
    name : str
    status : int
        0 where the function returned nothing or 0.
    printed : str
        What it wrote, standard error included.
    """
    preload()
    waiting = list(tasks.items())
    running = {}
    with tempfile.TemporaryDirectory(prefix="nlgjudge-") as folder:
        try:
            while waiting or running:
                while waiting and len(running) < (os.cpu_count() or 1):
                    name, (function, *arguments) = waiting.pop(0)
                    said = Path(folder, f"{name}.txt")
                    process = context().Process(target=_task, args=(said, function, arguments))
                    process.start()
                    running[process.sentinel] = name, process, said
                for sentinel in wait(running):
                    name, process, said = running.pop(sentinel)
                    process.join()
                    yield name, process.exitcode, said.read_text(encoding="utf-8", errors="replace")
        finally:
            for _, process, _ in running.values():
                process.terminate()
                process.join()


def _task(said, function, arguments):
    with said.open("w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        sys.stdout = sys.stderr = log
        become_runner()
        sys.exit(function(*arguments))


def become_runner():
    """Prepare a process for one notebook: have its kernel ready, and end when the parent does."""
    if not can_fork():
        return
    end_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not _ready:
        return
    _spare.append(_Spare())
    factory = KernelProvisionerFactory.instance()
    factory.provisioners["nlgjudge-forked"] = _Registered()
    factory.default_provisioner_name = "nlgjudge-forked"


class _Registered:
    """What the factory takes for the entry point of an installed provisioner."""

    def load(self):
        return _Provisioner


class _Provisioner(LocalProvisioner):
    """Start the kernel in the spare process; in a new one where that is taken, as for a kernel's restart."""

    async def launch_kernel(self, cmd, **kwargs):
        if not _spare or "ipykernel_launcher" not in cmd:
            return await super().launch_kernel(cmd, **kwargs)
        self.process = _spare.pop()
        environment = kwargs.get("env") or dict(os.environ)
        self.process.start(
            cmd[cmd.index("ipykernel_launcher") + 1 :],
            environment | {"JPY_PARENT_PID": str(os.getpid())},
            kwargs.get("cwd") or os.getcwd(),
            quiet=kwargs.get("stderr") is not None,
        )
        self.pid = self.process.pid
        self.pgid = self.process.pid
        self.cwd = kwargs.get("cwd", os.getcwd())
        return self.connection_info


class _Spare:
    """A copy of this process that waits to become a kernel, with the methods of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self):
        theirs, self._ours = multiprocessing.Pipe(duplex=False)
        self._process = context().Process(target=_wait_and_become_kernel, args=(theirs, self._ours))
        self._process.start()
        theirs.close()
        self.pid = self._process.pid
        # A runner that ends without a kernel, as for an unknown parameter, would wait for it: let it go before.
        Finalize(None, self._ours.close, exitpriority=0)

    def start(self, arguments, environment, folder, quiet):
        """Tell it to become a kernel now."""
        self._ours.send((arguments, environment, str(folder), quiet))
        self._ours.close()

    def poll(self):
        """Exit status, or None while it runs."""
        return self._process.exitcode

    def wait(self, timeout=None):
        """Exit status, once it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("kernel", timeout)
        return self._process.exitcode

    def send_signal(self, signum):
        """Send a signal while it runs."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self):
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self):
        """End it."""
        self.send_signal(signal.SIGKILL)


def _wait_and_become_kernel(orders, others_end):
    others_end.close()  # else the end of the runner would not be seen
    end_with_parent()
    os.setsid()  # as a kernel that is started anew: a signal to the group reaches its own processes alone
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        arguments, environment, folder, quiet = orders.recv()
    except (EOFError, KeyboardInterrupt):
        return  # the runner ended without a kernel
    orders.close()
    os.environ.clear()
    os.environ.update(_set_by_imports | environment)
    os.chdir(folder)
    if quiet:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
    for name in [name for name in sys.modules if name.partition(".")[0] == "nlgjudge"]:
        del sys.modules[name]
    del sys.path[0]  # the folder of the command, or the one that it was started in
    random.seed()
    import numpy as np

    np.random.seed()
    sys.argv = ["ipykernel_launcher", *arguments]
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])
