"""Names with near matches, and one meaning of a limit."""

import pandas as pd
import pytest

from nlgjudge.data.choices import first, unknown

ITEMS = pd.DataFrame({"item_id": ["a", "b", "c"]})


def test_a_near_name_is_offered_and_few_names_are_listed():
    assert unknown("aspect", "coherance", ["coherence", "fluency"]) == (
        "no aspect 'coherance': did you mean 'coherence'? There are coherence, fluency"
    )


def test_of_many_names_only_the_near_ones_are_listed():
    known = [f"prompt_{number:02d}" for number in range(40)]
    assert unknown("prompt", "prompt_7", known).startswith(
        "no prompt 'prompt_7': did you mean 'prompt_"
    )
    assert "prompt_20" not in unknown("prompt", "prompt_07x", known)
    assert unknown("prompt", "zzz", known).endswith("there are 40, as " + ", ".join(known[:12]))


@pytest.mark.parametrize("limit, kept", [(None, 3), (0, 3), (2, 2), (5, 3)])
def test_none_and_nought_keep_all(limit, kept):
    assert len(first(ITEMS, limit)) == kept


@pytest.mark.parametrize("limit", [-1, 1.5, True, "3"])
def test_other_limits_are_refused(limit):
    with pytest.raises(
        ValueError, match="expected a whole number of at least 0; 0 or None takes all"
    ):
        first(ITEMS, limit)
