"""Errors of judges that their callers tell apart."""

_NAMED = 5  # batches in a message


class JudgeError(Exception):
    """A judge cannot go on; the message says why and what to do.

    Attributes
    ----------
    status : int
        With which a command ends, see `nlgjudge.cli`.
    """

    status = 1


class Waiting(JudgeError):
    """Replies are still to come; the same call collects them later.

    Parameters
    ----------
    judge : str
        Its name.
    where : dict of str to set of str
        Keys of the requests by the batch, or else the place, that they wait for.
    advice : str
        What to do, as the end of a sentence.
    """

    status = 3

    def __init__(self, judge, where, advice):
        self.judge = judge
        self.where = where
        self.advice = advice
        number = len(set().union(*where.values()))
        names = list(where)
        shown = ", ".join(names[:_NAMED])
        if len(names) > _NAMED:
            shown += f" and {len(names) - _NAMED} others"
        super().__init__(f"{judge}: {number} requests are waiting for {shown}; {advice}")


class AllWaiting(Waiting):
    """Several parts of a run are waiting.

    Parameters
    ----------
    errors : list of Waiting
        One for each part; those of one judge and one advice are told together.
    """

    def __init__(self, errors):
        by_kind = {}
        for error in errors:
            where = by_kind.setdefault((error.judge, error.advice), {})
            for place, keys in error.where.items():
                where[place] = where.get(place, set()) | keys
        told = [Waiting(judge, where, advice) for (judge, advice), where in by_kind.items()]
        self.judge = ", ".join(dict.fromkeys(one.judge for one in told))
        self.where = {place: keys for one in told for place, keys in one.where.items()}
        self.advice = "; ".join(dict.fromkeys(one.advice for one in told))
        JudgeError.__init__(self, "; ".join(map(str, told)))
