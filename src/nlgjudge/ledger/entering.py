"""Which judges may be entered in the ledger, and under which printed rows."""

from nlgjudge.data.choices import unknown

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


def entered(enter_as, judge, known):
    """Say under which printed rows a judge is entered: under those alone that the user has named.

    Call it before the judge is asked, so that a misspelt row costs nothing.

    Parameters
    ----------
    enter_as : str or list of str
        The rows' labels as printed; empty for none.
    judge : str or object
        A name as for `nlgjudge.judging.run.get_judge`, or a judge with a `name`.
    known : iterable of str
        Rows that the notebook asks the judge for.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        For a row that is not among them, for rows without a judge, and for a judge that is a rule.

    Examples
    --------
    >>> entered("", "surface", ["G-EVAL-3.5", "G-EVAL-4"])
    []
    >>> entered("G-EVAL-4", "openai:MODEL", ["G-EVAL-3.5", "G-EVAL-4"])
    ['G-EVAL-4']
    """
    rows = [enter_as] if isinstance(enter_as, str) else list(enter_as)
    rows = [row for row in rows if row]
    if not rows:
        return []
    if not judge_name(judge):
        raise ValueError(f"enter_as={enter_as!r}: no judge is given; name one, as openai:MODEL, "
                         "or leave enter_as empty")
    refuse_rules([judge])
    known = list(known)
    for row in rows:
        if row not in known:
            raise ValueError(f"enter_as={enter_as!r}: {unknown('printed row', row, known)}")
    return list(dict.fromkeys(rows))


def ledger_note(judge, rows, rated, items, *, sample=False):
    """Say whether a judge's numbers go into the ledger, and if not why.

    Parameters
    ----------
    judge : str or object
        A name as for `nlgjudge.judging.run.get_judge`, or a judge with a `name`.
    rows : list of str
        From `entered`.
    rated, items : int
        How many items the judge rated, and how many there are.
    sample : bool
        Whether they are the sample's.

    Returns
    -------
    str

    Examples
    --------
    >>> ledger_note("surface", [], 72, 72)
    'surface is a rule, so it is in no row of the ledger'
    >>> ledger_note("openai:MODEL", [], 72, 72)
    'openai:MODEL is in no row of the ledger, because enter_as names none'
    >>> ledger_note("openai:MODEL", ["G-EVAL-4"], 10, 72)
    'openai:MODEL rated 10 of 72 items, so it is in no row of the ledger'
    >>> ledger_note("openai:MODEL", ["G-EVAL-4"], 72, 72)
    'openai:MODEL is in the ledger under G-EVAL-4'
    """
    name = judge_name(judge)
    if is_rule(judge):
        return f"{name} is a rule, so it is in no row of the ledger"
    if not rows:
        return f"{name} is in no row of the ledger, because enter_as names none"
    if rated < items:
        return f"{name} rated {rated:,} of {items:,} items, so it is in no row of the ledger"
    if sample:
        return f"{name} rated the sample, so it is in no row of the ledger"
    return f"{name} is in the ledger under {', '.join(rows)}"


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
            raise ValueError(f"judge {judge_name(judge)!r} is a rule, no model: it stands for no printed "
                             "row. Show its numbers beside the table")
