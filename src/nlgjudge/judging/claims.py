"""Who is asking what at this moment, so that two runs on one store never pay for the same request.

A run claims a request in the store before it asks, and gives the claim back when the replies are
stored. A claim has an expiry, which its run moves on while it lives. One that a killed run left is
void at once where this machine can tell that the process is gone, and after the expiry elsewhere.
"""

import os
import sqlite3
import time
import uuid
from pathlib import Path

SECONDS = 60  # after which a claim that nobody renews is void


class Claims:
    """The claims of one run.

    Parameters
    ----------
    path : path-like
        Of the store, which is there already.
    seconds : float
        How long a claim holds when it is not renewed.

    Attributes
    ----------
    seconds : float
    """

    def __init__(self, path, *, seconds=SECONDS):
        self.seconds = seconds
        self._owner = "/".join([*_process(), uuid.uuid4().hex])
        # A connection of its own, which does not wait for the disk: a claim outlives its process as it
        # is, and nobody needs it after a loss of power. Never OFF, which could damage the replies.
        self._db = sqlite3.connect(path, timeout=60, check_same_thread=False)
        self._db.execute("PRAGMA synchronous=NORMAL")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def take(self, key):
        """Claim a request; False where somebody has claimed it, this run included.

        What the other stored in the meantime is seen only after the claim, so the store is to be read again.

        Parameters
        ----------
        key : str

        Returns
        -------
        bool
        """
        return bool(self.take_all([key]))

    def take_all(self, keys):
        """Claim several requests at once.

        Parameters
        ----------
        keys : iterable of str

        Returns
        -------
        set of str
            Those that nobody else has claimed.
        """
        keys = set(keys)
        for owner in self._owners(keys):
            if _is_gone(owner):
                with self._db:
                    self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        now = time.time()
        taken = set()
        with self._db:
            for key in sorted(keys):
                done = self._db.execute(
                    "INSERT INTO claims (key, owner, expires) VALUES (?, ?, ?) ON CONFLICT (key) "
                    "DO UPDATE SET owner = excluded.owner, expires = excluded.expires WHERE expires <= ?",
                    (key, self._owner, now + self.seconds, now),
                )
                if done.rowcount:
                    taken.add(key)
        return taken

    def is_taken(self, key):
        """Whether somebody is asking a request at this moment.

        Parameters
        ----------
        key : str

        Returns
        -------
        bool
        """
        return any(not _is_gone(owner) for owner in self._owners([key]))

    def renew(self):
        """Move the expiry of this run's claims on."""
        with self._db:
            self._db.execute(
                "UPDATE claims SET expires = ? WHERE owner = ?",
                (time.time() + self.seconds, self._owner),
            )

    def give_back(self, keys):
        """Give claims of this run back.

        Parameters
        ----------
        keys : iterable of str
        """
        with self._db:
            self._db.executemany(
                "DELETE FROM claims WHERE key = ? AND owner = ?",
                [(key, self._owner) for key in keys],
            )

    def close(self):
        """Give all claims of this run back."""
        try:
            with self._db:
                self._db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
        except sqlite3.Error:
            pass  # the disk may be what ended the run; the claims expire
        finally:
            self._db.close()

    def _owners(self, keys):
        """Others and this run, where they hold one of these claims."""
        found = set()
        for key in keys:
            row = self._db.execute(
                "SELECT owner FROM claims WHERE key = ? AND expires > ?", (key, time.time())
            )
            found.update(owner for (owner,) in row)
        return found


def _process():
    """This process, so that others on this machine can tell whether it lives: machine, number, start."""
    return [_machine(), str(os.getpid()), _started(os.getpid())]


def _is_gone(owner):
    """Whether the process of a claim has ended; False where that cannot be told."""
    machine, number, started, _ = owner.split("/")
    if not machine or machine != _machine():
        return False
    return _started(int(number)) != started


def _machine():
    """This machine since its last start, and the container in which numbers of processes mean something."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}-{os.readlink('/proc/self/ns/pid')}"
    except OSError:  # another system than Linux: a claim of a killed run has to expire
        return ""


def _started(number):
    """When a process began, in the kernel's ticks; empty for one that is gone, or has only its status left."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]
