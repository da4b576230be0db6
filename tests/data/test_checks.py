"""Names with near matches, and one meaning of a limit."""

import pandas as pd
import pytest

from nlgjudge.data.checks import first, unknown

ITEMS = pd.DataFrame({"item_id": ["a", "b", "c"]})


def test_of_many_names_only_the_near_ones_are_listed():
    known = [f"prompt_{number:02d}" for number in range(40)]
    said = unknown("prompt", "prompt_07x", known)
    assert said.startswith("no prompt 'prompt_07x': did you mean 'prompt_07'")
    assert "prompt_20" not in said
    assert unknown("prompt", "zzz", known).endswith("there are 40, as " + ", ".join(known[:12]))


@pytest.mark.parametrize("limit, kept", [(None, 3), (0, 3), (2, 2), (5, 3)])
def test_none_and_nought_keep_all(limit, kept):
    assert len(first(ITEMS, limit)) == kept


@pytest.mark.parametrize("limit", [-1, 1.5, True, "3"])
def test_other_limits_are_refused(limit):
    with pytest.raises(ValueError, match="limit=.*expected a whole number of at least 0"):
        first(ITEMS, limit)
