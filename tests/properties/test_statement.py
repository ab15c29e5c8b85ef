"""Undoing a statement restores the complete state; replaying the commits gives the state after the cycle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.solver.framework.ledger import Ledger
from tenure.solver.result.folding import fold_decisions
from tenure.solver.testing import placements

from tests.properties.generators.draw import ShrinkingDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.random_moves import random_move
from tests.solver.sessions import ledger_state, open_session, run_actions, session_state


@given(data=st.data())
def test_rollback_to_any_mark_restores_ledger_and_queue_totals(data: st.DataObject) -> None:
    draw = ShrinkingDraw(data)
    session = open_session(random_cluster(draw))
    with session.statement() as statement:
        states = [session_state(session)]
        for _ in range(draw.integer(1, 12)):
            move = random_move(draw, session, statement)
            if move is not None:
                move(statement)
                states.append(session_state(session))
        mark = draw.integer(0, len(states) - 1)
        statement.rollback(mark)
        assert session_state(session) == states[mark]
    assert session_state(session) == states[0]


@given(data=st.data())
@settings(max_examples=100)
@pytest.mark.long
def test_replaying_the_folded_decision_ends_in_the_state_the_cycle_ended_in(data: st.DataObject) -> None:
    cluster = random_cluster(ShrinkingDraw(data))
    session = open_session(cluster)
    run_actions(session)
    replayed = Ledger(cluster)
    for task, after in enumerate(placements(cluster, fold_decisions(session))):
        if after != cluster.tasks[task].placement:
            replayed.apply(task, cluster.tasks[task].placement, after)
    assert ledger_state(replayed) == ledger_state(session.ledger)
