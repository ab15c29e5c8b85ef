"""Slots that were counted before are counted again where room changed, and nowhere else is it needed."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.framework.session import Session
from tenure.solver.registry import default_profile, opened, plugins
from tenure.solver.search.place import Placer
from tenure.solver.search.slots import slots

from tests.properties.clusters import random_cluster
from tests.properties.draw import ShrinkingDraw
from tests.properties.moves import random_move


@given(data=st.data())
@settings(max_examples=100)
def test_what_is_kept_is_what_counting_anew_gives(data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    session = Session.open(random_cluster(draw), opened(default_profile()), plugins())
    placer, statement = Placer(session), session.statement()
    nodes = session.cluster.nodes
    for _ in range(draw.integer(1, 6)):
        for shape in session.cluster.shapes[: draw.integer(0, len(session.cluster.shapes))]:
            kept = placer.free_slots.on(shape, placer.index.all_nodes)
            assert kept == {n.index: slots(session.ledger, shape, n.index, ()) for n in nodes}, shape
        move = random_move(draw, session, statement)
        if move is None:
            break
        move(statement)
