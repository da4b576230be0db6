"""DHP's survey of experts as a form, and the weights that their votes give (Wang et al. 2024, section 4.3.2)."""

import html

import pandas as pd

from nlgjudge.data import spreadsheets


def survey(task, metrics, issues, path):
    """Show the expert survey of Figure 5, for one task, as a form that writes votes.

    Parameters
    ----------
    task : str
        As ``"summarization"``.
    metrics : dict of str to str
        Definition by metric.
    issues : dict of str to str
        Description of a quality issue by perturbation.
    path : str or pathlib.Path
        A CSV; each press of the button adds a line per issue: `task, perturbation, metric`. A name that a
        spreadsheet would compute has an apostrophe in front, which `expert_weights` takes off.

    Returns
    -------
    ipywidgets.VBox

    Examples
    --------
    >>> form = survey("summarization", {"fluency": "grammar and spelling"}, {"typos": "Words are misspelt."},
    ...               "votes.csv")
    >>> [part.value for part in form.children[:2]]
    ['<b>fluency</b>: grammar and spelling', 'Words are misspelt.']
    """
    import ipywidgets

    head = [
        ipywidgets.HTML(f"<b>{html.escape(metric)}</b>: {html.escape(definition)}")
        for metric, definition in metrics.items()
    ]
    choices = {}
    rows = []
    for name, description in issues.items():
        choices[name] = ipywidgets.RadioButtons(options=list(metrics), value=None)
        rows += [ipywidgets.Label(description), choices[name]]
    button = ipywidgets.Button(description="Save votes")
    said = ipywidgets.Label()

    def save(_):
        unanswered = [name for name, choice in choices.items() if choice.value is None]
        if unanswered:
            said.value = f"no metric chosen yet for {', '.join(unanswered)}"
            return
        votes = pd.DataFrame(
            {
                "task": task,
                "perturbation": list(choices),
                "metric": [choice.value for choice in choices.values()],
            }
        )
        new = not pd.io.common.file_exists(path)
        spreadsheets.write(votes, path, mode="a", header=new, lineterminator="\n")
        said.value = f"{len(votes)} votes added to {path}"

    button.on_click(save)
    return ipywidgets.VBox([*head, *rows, button, said])


def expert_weights(votes, metrics):
    """Turn votes into weights (section 4.3.2: votes of 4, 1 and 5 are weights of 0.4, 0.1 and 0.5).

    Parameters
    ----------
    votes : pandas.DataFrame
        `perturbation, metric`, a row per vote.
    metrics : list of str

    Returns
    -------
    pandas.DataFrame
        Perturbations x metrics, rows summing to 1.

    Raises
    ------
    ValueError
        For a vote for another metric.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"perturbation": ["typos"] * 10,
    ...                       "metric": ["coherence"] * 4 + ["relevance"] + ["fluency"] * 5})
    >>> expert_weights(votes, ["coherence", "relevance", "fluency"]).loc["typos"].to_dict()
    {'coherence': 0.4, 'relevance': 0.1, 'fluency': 0.5}
    """
    votes = votes[["perturbation", "metric"]].map(spreadsheets.plain)
    if not set(votes["metric"]) <= set(metrics):
        raise ValueError(
            f"expected votes for {', '.join(metrics)}, got {sorted(set(votes['metric']))}"
        )
    counts = pd.crosstab(votes["perturbation"], votes["metric"]).reindex(
        columns=metrics, fill_value=0
    )
    return counts.div(counts.sum(axis=1), axis=0)
