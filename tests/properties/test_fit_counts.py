"""Slots that were counted before are counted again where room changed, and nowhere else is it needed."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.framework.session import Session
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.search.placer import Placer
from tenure.solver.search.speedups.fit_counts import count_fits

from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.random_moves import random_move


@given(data=st.data())
@settings(max_examples=100)
def test_updated_fit_counts_equal_recomputed_ones(data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    session = Session.open(random_cluster(draw), with_required_plugins(default_profile()), BUILT_IN)
    placer, statement = Placer(session), session.statement()
    nodes = session.cluster.nodes
    for _ in range(draw.integer(1, 6)):
        for shape in session.cluster.shapes[: draw.integer(0, len(session.cluster.shapes))]:
            kept = placer.fit_counts.on(shape, placer.index.all_nodes)
            assert kept == {n.index: count_fits(session.ledger, shape, n.index, ()) for n in nodes}, shape
        move = random_move(draw, session, statement)
        if move is None:
            break
        move(statement)
