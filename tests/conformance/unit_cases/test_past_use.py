"""Fair shares after past use are those of the reference scheduler's own division (semantics R18.1, R18.7).

Shares are compared as they are: in the recorded examples, no difference in rounding needs room.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.conformance.cases import Case, load_cases, select
from tests.conformance.unit_cases.fair_share import FAIR_SHARE_FUNCTIONS, Divided, fair_share_differences

EXAMPLES: Final = load_cases(Path(__file__).parents[1] / "recorded")
NO_PART: Final = select(EXAMPLES, tags=["no_part"])
"""Past use leaves no queue of a priority a part: Tenure deviates from the reference (semantics R18.7)."""
SAME: Final = [case for case in EXAMPLES if case not in NO_PART]


def _named(case: Case) -> str:
    return str(case.data["name"])


def _divided(case: Case, **changes: float) -> Divided:
    return FAIR_SHARE_FUNCTIONS[case.data["function"]]({**case.data, **changes})


@pytest.mark.parametrize("case", SAME, ids=_named)
def test_fair_shares_after_past_use_are_those_of_the_reference(case: Case) -> None:
    assert fair_share_differences(case.data) == []


@pytest.mark.parametrize("case", NO_PART, ids=_named)
def test_queues_without_a_part_share_by_weight_where_the_reference_leaves_a_rest_r18_7(case: Case) -> None:
    assert case.data["expected"]["remaining"] > 0
    assert _divided(case) == _divided(case, k_value=0.0)
    assert _divided(case)[1] == 0


def test_most_examples_depend_on_past_use() -> None:
    same_without = [case for case in SAME if _divided(case) == _divided(case, k_value=0.0)]
    assert len(same_without) < len(SAME) / 4
