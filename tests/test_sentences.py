"""Sentences that state results are bound to their numbers: a planted notebook and two real ones.

`make sentences` looks at all.
"""

import nbformat
import pytest

from sentences import check, contradictions, stale, typed


def book(prose, printed, value):
    cells = [
        nbformat.v4.new_markdown_cell(prose),
        nbformat.v4.new_code_cell(
            "show()",
            outputs=[
                nbformat.v4.new_output("stream", text=f"spearman {value}"),
                nbformat.v4.new_output("display_data", data={"text/markdown": printed}),
            ],
        ),
    ]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize(
    "prose, printed, found",
    [
        ("The judge reaches 0.47.", "It is {}.", [".47"]),
        ("How good is the judge?", "It is {}.", []),
        ("How good is the judge?", "It is 0.47.", [".47"]),  # printed by a cell, and typed into it
        ("In the committed run, the judge reaches 0.47.", "It is {}.", [".47"]),
        ("The paper publishes 0.47.", "It is {}.", None),
    ],
)
def test_a_sentence_that_stays_while_its_number_moves_is_found(prose, printed, found):
    committed, ran = (book(prose, printed.format(value), value) for value in ("0.471", "0.382"))
    known = {".47"} if found is None else frozenset()
    assert [number for number, _ in stale(committed, ran, known)] == (found or [])


@pytest.mark.parametrize(
    "sentence, found",
    [
        ("A form costs steps up to nan.", True),
        ("Of 0 published correlations, 0 reproduce.", True),
        ("Chance gives an accuracy of 0.30.", False),
        ("It is significant on .", True),
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
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    assert [number for number, _ in typed(made)] == found


@pytest.mark.parametrize("name", ["00_tour", "template_ablation"])  # with samples = 1
def test_sentences_follow_their_numbers(name, tmp_path):
    assert check(name, tmp_path) == []
