"""Which judges may be entered in the ledger: models, and no rules."""

# Judges that are no model, by the first part of their names.
RULES = ["surface", "simulated", "chained"]


def is_rule(judge):
    """Tell whether a judge is a rule or a simulation, and no model.

    Parameters
    ----------
    judge : str or object
        A name as for `nlgjudge.judging.run.get_judge`, or a judge with a `name`.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_rule("surface"), is_rule("chained:surface"), is_rule("openai:MODEL")
    (True, True, False)
    """
    return judge_name(judge).partition(":")[0] in RULES


def judge_name(judge):
    """Name a judge.

    Parameters
    ----------
    judge : str or object
        A name, or a judge with a `name`.

    Returns
    -------
    str

    Examples
    --------
    >>> judge_name("openai:MODEL")
    'openai:MODEL'
    """
    if isinstance(judge, str):
        return judge
    return str(getattr(judge, "name", type(judge).__name__))


def refuse_rules(judges):
    """Refuse judges that are no model.

    Parameters
    ----------
    judges : iterable of str or object

    Raises
    ------
    ValueError
        For the first that is a rule.
    """
    for judge in judges:
        if is_rule(judge):
            raise ValueError(
                f"judge {judge_name(judge)!r} is a rule, no model: it stands for no printed "
                "row. Show its numbers beside the table"
            )
