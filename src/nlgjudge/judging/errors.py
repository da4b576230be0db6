"""Errors of judges that their callers tell apart."""


class JudgeError(Exception):
    """A judge cannot go on; the message says why and what to do.

    Attributes
    ----------
    status : int
        With which a command ends, see `nlgjudge.repo.exits`.
    """

    status = 1


class Waiting(JudgeError):
    """Replies are still to come; the same call collects them later."""

    status = 3
