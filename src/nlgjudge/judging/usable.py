"""Which replies a protocol can use, and which are asked again.

A reply is of no use

- when it has no text;
- when the next step of a protocol cannot be made of it: a chain's reply that names no aspect,
  or that does not score every aspect (`nlgjudge.judging.tasks.Task.check`);
- when the item has this one reply, and no rating can be read in it.

Among several samples of one item a reply without a rating stays as it is and counts as NaN: to
draw it anew would choose the sample by what it says. With a single reply the choice is between
a rating and none, so it is asked again; how many were asked again, and how many in vain, is
said beside the results. All tries are kept. The first that can be used is used; where none can
be, the first of all stands.

What a server refused by its content filter is not asked again. A reply that ran out of tokens
before anything could be read in it (`length`) is not asked again in the same run, because it would
be cut again. One that was cut behind its rating is as good as any.
"""

import math

from nlgjudge.judging.parsing import FORMS, parse
from nlgjudge.judging.probabilities import expected_score

TRIES = 3  # of a reply, in the run that asks for it first
MOST_TRIES = 6  # of a reply at all; each later run adds one
IN_VAIN = 20  # replies asked again in a row without any use end the asking again
FINAL = ("content_filter",)
# Reasons by which replies can be named: what a server gave, then what can be read in a text.
REASONS = (
    "empty",
    "length",
    "content_filter",
    "refusal",
    "no_rating",
    "ambiguous",
    "out_of_range",
    "other_scale",
    "not_json",
    "no_score_token",
)


def unread(form, scale, reply, options=None, aspect=""):
    """Why no rating can be read in a reply.

    Parameters
    ----------
    form : str
        Of the prompt; anything but `nlgjudge.judging.parsing.FORMS` asks for no single rating.
    scale : (float, float)
    reply : dict
        With `text, reason, logprobs`, as a store has it.
    options : dict of str to float, optional
        Of the form `choice`; without them a choice cannot be read, and nothing is said of it.
    aspect : str
        The aspect that was asked, as for `nlgjudge.judging.parsing.parse`.

    Returns
    -------
    str
        Empty where one can be read, or none is wanted.
    """
    if _is_cut(reply):
        return reply["reason"] if unread(form, scale, _as_whole(reply), options, aspect) else ""
    if reply["reason"]:
        return reply["reason"]
    if not reply["text"].strip():
        return "empty"
    if form not in FORMS or (form == "choice" and not options):
        return ""
    if reply["logprobs"]:
        return (
            "no_score_token"
            if math.isnan(expected_score(reply["logprobs"], scale, form=form)[0])
            else ""
        )
    return parse(reply["text"], form, scale, options=options, aspect=aspect).reason


def problem(task, n, reply):
    """Why a reply is of no use to its protocol.

    Parameters
    ----------
    task : nlgjudge.judging.tasks.Task
    n : int
        Samples that are asked of the item.
    reply : dict
        With `text, reason, logprobs`.

    Returns
    -------
    str
        Empty where it can be used.

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Task
    >>> task = Task("item", "fluency", "Rate it.", {}, (1, 5), "form")
    >>> problem(task, 1, {"text": "It is good.", "reason": "", "logprobs": []})
    'no_rating'
    >>> problem(task, 20, {"text": "It is good.", "reason": "", "logprobs": []})
    ''
    """
    if _is_cut(reply):
        return reply["reason"] if problem(task, n, _as_whole(reply)) else ""
    if reply["reason"]:
        return reply["reason"]
    if not reply["text"].strip():
        return "empty"
    if task.check is not None:
        return task.check(reply["text"])
    if n > 1:
        return ""
    return unread(task.form, task.scale, reply, task.options, task.aspect)


def told(task, reply):
    """The reason that goes with a reply to its reader.

    Parameters
    ----------
    task : nlgjudge.judging.tasks.Task
    reply : dict
        With `text, reason, logprobs`.

    Returns
    -------
    str
        As it is stored; that a reply was cut is left out where what was asked for can be read in it.

    Examples
    --------
    >>> from nlgjudge.judging.tasks import Task
    >>> task = Task("item", "fluency", "Rate it.", {}, (1, 5), "form")
    >>> told(task, {"text": "Fluency: 4. It is", "reason": "length", "logprobs": []})
    ''
    >>> told(task, {"text": "Let us look at", "reason": "length", "logprobs": []})
    'length'
    """
    return problem(task, 1, reply) if _is_cut(reply) else reply["reason"]


def _is_cut(reply):
    """Whether a reply has a beginning and was cut by the limit on tokens."""
    return reply["reason"] == "length" and bool(reply["text"].strip())


def _as_whole(reply):
    return reply | {"reason": ""}


def used(task, n, tries):
    """Choose among the tries of one sample: the first that can be used, else the first.

    Parameters
    ----------
    task : nlgjudge.judging.tasks.Task
    n : int
        Samples that are asked of the item.
    tries : list of dict
        In the order in which they were made.

    Returns
    -------
    dict
        One of them.
    """
    if len(tries) > 1:
        for reply in tries:
            if not problem(task, n, reply):
                return reply
    return tries[0]


def may_be_asked_again(reason, tries, *, in_this_run):
    """Whether a reply that is of no use is asked for once more.

    Parameters
    ----------
    reason : str
        From `problem`.
    tries : int
        Made so far, in all runs.
    in_this_run : bool
        Whether the last of them was made in this run.

    Returns
    -------
    bool
    """
    return False
