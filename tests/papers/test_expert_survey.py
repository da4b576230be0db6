"""DHP's survey of experts: votes become weights, and the form saves them."""

import pandas as pd
import pytest

import nlgjudge as nj


def test_votes_become_weights_as_in_section_4_3_2():
    cast = ["coherence"] * 4 + ["consistency"] + ["fluency"] * 5
    votes = pd.DataFrame({"perturbation": "x", "metric": cast})
    shares = nj.dhp.expert_weights(votes, ["coherence", "consistency", "fluency", "relevance"])
    assert shares.loc["x"].tolist() == [0.4, 0.1, 0.5, 0.0]
    with pytest.raises(ValueError, match="expected votes for fluency, got"):
        nj.dhp.expert_weights(votes, ["fluency"])


def test_the_survey_s_form_saves_complete_votes(tmp_path):
    widgets = pytest.importorskip("ipywidgets")
    path = tmp_path / "votes.csv"
    form = nj.dhp.survey(
        "summarization",
        {"coherence": "order", "fluency": "grammar"},
        {"typos": "t", "reordering": "r"},
        path,
    )
    choices = [c for c in form.children if isinstance(c, widgets.RadioButtons)]
    (button,) = (c for c in form.children if isinstance(c, widgets.Button))
    button.click()
    assert (
        form.children[-1].value == "no metric chosen yet for typos, reordering"
        and not path.exists()
    )
    for choice, metric in zip(choices, ("fluency", "coherence")):
        choice.value = metric
    button.click()
    button.click()
    assert path.read_text() == "task,perturbation,metric\n" + 2 * (
        "summarization,typos,fluency\nsummarization,reordering,coherence\n"
    )


def test_a_name_in_the_votes_is_no_formula_and_is_counted_by_its_name(tmp_path):
    widgets = pytest.importorskip("ipywidgets")
    path = tmp_path / "votes.csv"
    form = nj.dhp.survey(
        "summarization", {"=SUM(1)": "order", "fluency": "grammar"}, {"-typos": "t"}, path
    )
    (choice,) = (c for c in form.children if isinstance(c, widgets.RadioButtons))
    choice.value = "=SUM(1)"
    next(c for c in form.children if isinstance(c, widgets.Button)).click()
    assert path.read_text() == "task,perturbation,metric\nsummarization,'-typos,'=SUM(1)\n"
    weights = nj.dhp.expert_weights(pd.read_csv(path), ["=SUM(1)", "fluency"])
    assert weights.loc["-typos"].tolist() == [1, 0]
