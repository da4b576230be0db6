"""Sentences that state results are bound to their numbers: a planted notebook and two real ones.

`make sentences` looks at all.
"""

import pytest

from nlgjudge.notebook.finding import notebooks, read_notebook
from sentences import check, contradictions, parameters, second, stale, typed


def cells(prose, printed, value):
    """What a reader sees of a Markdown cell and of one with two outputs."""
    outputs = [{"text/plain": f"spearman {value}"}, {"text/markdown": printed}]
    return [[{"text/markdown": prose}], outputs]


@pytest.mark.parametrize(
    "prose, printed, found",
    [
        ("The judge reaches 0.471.", "It is {}.", [".471"]),
        ("How good is the judge?", "It is {}.", []),
        (
            "How good is the judge?",
            "It is 0.471.",
            [".471"],
        ),  # printed by a cell, and typed into it
        ("The judge reaches 0.471.<details>", "<details>It is 0.471.", [".471"]),
        ("The paper publishes 0.471.", "It is {}.", None),
    ],
)
def test_a_sentence_that_stays_while_its_number_moves_is_found(prose, printed, found):
    before, after = (cells(prose, printed.format(value), value) for value in ("0.471", "0.382"))
    known = {".471"} if found is None else frozenset()
    assert [number for number, _ in stale(before, after, known)] == (found or [])


@pytest.mark.parametrize(
    "sentence, found",
    [
        ("A form costs steps up to nan.", True),
        ("Of 0 published correlations, 0 reproduce.", True),
        ("Chance gives an accuracy of 0.30.", False),
        ("It is significant on .", True),
        ("It agrees in 5% to 5% of the pairs.", True),
        ("It agrees in 5% to 7% of the pairs.", False),
        ("It is significant on (), and:.", True),
        ("Spearman rises on average by -0.05.", True),
        ("Spearman falls by -0.05 to -0.02.", False),
        ("Spearman falls by +0.05.", True),
        ("`nan` stands for no rating, `x`.", False),
    ],
)
def test_words_that_contradict_their_numbers_are_found(sentence, found):
    assert bool(contradictions(sentence)) == found


@pytest.mark.parametrize(
    "code, found",
    [
        ('f"It changes {aspect} by 0.24 on average."', [".24"]),
        ('f"It changes {aspect} by {value:.2f} on average."', []),
        ('f"A judge above 1 on {aspect} passes in Table 3."', []),
    ],
)
def test_results_typed_into_an_f_string_are_found(code, found):
    book = {"cells": [{"cell_type": "code", "source": [code]}]}
    assert [number for number, _ in typed(book)] == found


@pytest.mark.parametrize("name", notebooks())
def test_every_parameter_has_a_second_value(name):
    own = parameters(read_notebook(name))
    other = {parameter: second(name, parameter) for parameter in own}
    assert not [one for one, value in own.items() if other[one] is not None and other[one] == value]


# A finding, a table, an ablation.
@pytest.mark.parametrize("name", ["00_tour", "geval_table3_qags", "template_ablation"])
def test_sentences_follow_their_numbers(name, monkeypatch, tmp_path):
    monkeypatch.setenv("NLGJUDGE_OUT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert check(name) == []
