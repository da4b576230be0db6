"""What served models have said in this process, so that a run that heard nothing of use does not pass for one."""

from collections import Counter

from nlgjudge.judging.errors import JudgeError

_heard = {}


def note(judge, reasons):
    """Count a model's replies by why they could not be read.

    Parameters
    ----------
    judge : object
        One that is no model, or a recorded one, is not counted.
    reasons : iterable of str
        Of each reply; empty where it has a rating.
    """
    if hasattr(judge, "plan"):
        _heard.setdefault(judge.name, Counter()).update(reasons)


def refuse_silence():
    """Refuse to go on where a model was asked in this process and not one of its replies could be read.

    Raises
    ------
    JudgeError
        With the model, the number of replies, and why most of them could not be read.
    """
    silent = []
    for name, reasons in _heard.items():
        if reasons and not reasons[""]:
            why, _ = reasons.most_common(1)[0]
            silent.append(
                f"{name}: of {reasons.total():,} replies none could be read, most often {why}: there is "
                "nothing to show; look at a reply in the store, at the model's name and at the prompt"
            )
    if silent:
        raise JudgeError("; ".join(silent))
