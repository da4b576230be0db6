"""Sentences that state results are bound to their numbers: a planted notebook and two real ones.

`make sentences` looks at all.
"""

import nbformat
import pytest

from sentences import check, stale


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
        ("In the committed run, the judge reaches 0.47.", "It is {}.", []),
        ("The paper publishes 0.47.", "It is {}.", None),
    ],
)
def test_a_sentence_that_stays_while_its_number_moves_is_found(prose, printed, found):
    committed, ran = (book(prose, printed.format(value), value) for value in ("0.471", "0.382"))
    known = {".47"} if found is None else frozenset()
    assert [number for number, _ in stale(committed, ran, known)] == (found or [])


@pytest.mark.parametrize("name", ["00_tour", "ablation_samples"])  # the first with samples = 1
def test_sentences_follow_their_numbers(name, tmp_path):
    assert check(name, tmp_path) == []
