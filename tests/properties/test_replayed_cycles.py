from collections.abc import Sequence
from typing import Final

import pytest

from tests.properties.replayed_cycles import judge

NOTICED: Final = (552, 555, 690, 726)
"""Guards are asked about victims with a notice before a cycle knows their leads."""


@pytest.mark.interpreted
@pytest.mark.parametrize("seeds", [*(range(first, first + 10) for first in range(0, 40, 10)), NOTICED])
def test_a_replayed_cycle_is_the_cycle_that_decided(seeds: Sequence[int]) -> None:
    for seed in seeds:
        found = judge(seed)
        assert not [text for text in found if text.startswith("seed")]
