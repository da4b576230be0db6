"""Errors of judges."""


class JudgeError(Exception):
    """A judge cannot go on; the message says why and what to do.

    Attributes
    ----------
    status : int
        Exit status of a command that ends with it, see `nlgjudge.cli`.
    """

    status = 1


class Waiting(JudgeError):
    """Replies are still to come from a batch; the same call goes on later.

    Parameters
    ----------
    judge : str
        Its name.
    batches : dict of str to set of str
        By batch, the keys of the requests that wait in it.
    advice : str
        What to do, as the end of a sentence.
    """

    status = 3

    def __init__(self, judge, batches, advice):
        self.judge = judge
        self.batches = batches
        self.advice = advice
        number = len(set().union(*batches.values()))
        super().__init__(
            f"{judge}: {number} requests are waiting for {', '.join(batches)}; {advice}"
        )


def all_or_waiting(steps):
    """Take all steps, also if some of them wait for a batch.

    Parameters
    ----------
    steps : iterable of callable

    Returns
    -------
    list
        What each returned.

    Raises
    ------
    Waiting
        After the last step, with the requests of all steps that wait.
    """
    found = []
    waiting = []
    for step in steps:
        try:
            found.append(step())
        except Waiting as error:
            waiting.append(error)
    if not waiting:
        return found
    batches = {}
    for error in waiting:
        for batch, keys in error.batches.items():
            batches[batch] = batches.get(batch, set()) | keys
    judges = dict.fromkeys(error.judge for error in waiting)
    raise Waiting(", ".join(judges), batches, waiting[0].advice)
