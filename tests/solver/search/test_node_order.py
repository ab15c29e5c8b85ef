"""Conversion of node sets to integers and back."""

import pytest
from tenure.solver.search.node_order import bit_set, bits

SETS = (
    [],
    [0],
    [8, 0],
    [61, 62, 63, 64],
    [*range(0, 64, 8)],
    [*range(0, 72, 8)],
    [*range(200)],
    [9_999, 3, 5_000],
)


@pytest.mark.parametrize("nodes", SETS)
def test_nodes_of_a_bit_set_are_in_order(nodes: list[int]) -> None:
    assert bit_set(nodes) == sum(1 << node for node in nodes)
    assert list(bits(bit_set(nodes))) == sorted(nodes)
