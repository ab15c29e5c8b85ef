"""Fit counts that are updated after capacity changes equal fit counts that are computed from scratch."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.search.fits import count_fits
from tenure.solver.search.speedups.fit_counts import FitCounts
from tenure.solver.search.speedups.node_index import NodeIndex

from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.random_moves import random_move
from tests.solver.sessions import open_session


@given(data=st.data())
@settings(max_examples=100)
@pytest.mark.long
def test_updated_fit_counts_equal_recomputed_ones(data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    session = open_session(random_cluster(draw))
    counts, statement = FitCounts(session.ledger, NodeIndex.of(session)), session.statement()
    nodes = session.cluster.nodes
    for _ in range(draw.integer(1, 6)):
        for shape in session.cluster.shapes[: draw.integer(0, len(session.cluster.shapes))]:
            chosen = draw.integer(0, (1 << len(nodes)) - 1)
            total, updated = counts.on(shape, chosen)
            fresh = [count_fits(session.ledger, shape, node.index, ()) for node in nodes]
            assert updated == [fits if chosen >> i & 1 else 0 for i, fits in enumerate(fresh)], shape
            assert total == sum(updated)
        move = random_move(draw, session, statement)
        if move is None:
            break
        move(statement)
