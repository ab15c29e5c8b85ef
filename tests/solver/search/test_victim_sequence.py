"""Victims of a search are computed once, as long as no commit changes their order."""

import pytest
from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.pod_group_lists import SortedPodGroups
from tenure.solver.search.victim_batches import VictimBatches, victim_batches
from tenure.solver.search.victim_sequence import VictimSequence
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session

ELASTIC, GANG = 0, 1


def session() -> Session:
    """An elastic pod group of three with a minimum of one, then a gang of two, on two nodes."""
    builder = ClusterBuilder().node("m", gpus=8).node("n", gpus=8).queue("q")
    builder.running("elastic", queue="q", gpus=1, node="m", count=3, min_member=1, created_ago="2h")
    builder.pod_group("gang", queue="q", created_ago="1h", min_member=2)
    for node in ("m", "n"):
        builder.running("gang", gpus=1, node=node)
    return open_session(builder.build())


def order(of: Session, recorded: frozenset[int] = frozenset()) -> VictimBatches:
    gangs = GangPlanner(of)
    lists = SortedPodGroups(of, gangs)
    return victim_batches(of, gangs, lists.victims, [0], lambda _: True, lambda _: False, recorded)


def all_of(sequence: VictimSequence) -> list[Batch]:
    while sequence.reaches(len(sequence.batches)):
        pass
    return sequence.batches


def test_batches_are_numbered_in_order_and_indexed_by_pod_group_and_node() -> None:
    opened = session()
    sequence = VictimSequence(opened.ledger, order(opened))
    found = [(batch.pod_group, len(batch.tasks)) for batch in all_of(sequence)]
    assert found == [(ELASTIC, 1), (ELASTIC, 1), (GANG, 2), (ELASTIC, 1)]
    assert (sequence.of(ELASTIC), sequence.of(GANG)) == ([0, 1, 3], [2])
    assert (sequence.on(0), sequence.on(1)) == ([0, 1, 2, 3], [2])


@pytest.mark.parametrize(
    ("recorded", "is_same"),
    [((), True), ((0,), True), ((2,), True), ((0, 2), True), ((1,), False), ((0, 1), False)],
)
def test_remaining_batches_retain_their_order_without_the_first(
    recorded: tuple[int, ...], is_same: bool
) -> None:
    opened = session()
    sequence = VictimSequence(opened.ledger, order(opened))
    whole = all_of(sequence)
    batches = [whole[number] for number in recorded]
    assert (sequence.numbers(batches) == list(recorded)) is is_same
    if is_same:
        tasks = frozenset(task for batch in batches for task in batch.tasks)
        alone = all_of(VictimSequence(opened.ledger, order(opened, tasks)))
        assert [b.tasks for b in alone] == [batch.tasks for batch in whole if batch not in batches]


@pytest.mark.parametrize("skips", [frozenset[int](), frozenset({0}), frozenset({0, 2}), frozenset({1, 3})])
@pytest.mark.parametrize("number", range(5))
def test_lookup_of_a_prefix_on_a_node_equals_iterating_its_batches(
    number: int, skips: frozenset[int]
) -> None:
    opened = session()
    sequence = VictimSequence(opened.ledger, order(opened))
    batches, places = all_of(sequence), opened.ledger.placements
    kept = [batch for n, batch in enumerate(batches[:number]) if n not in skips]
    assert sequence.before(number, skips) == kept
    firsts = []
    for node in (0, 1):
        there = [batch for batch in kept if any(places[task].node == node for task in batch.tasks)]
        gpus, count, first = sequence.freed_on(node, number, skips)
        assert (gpus, count) == (1_000 * len(there), len(there))
        firsts += [(kept.index(there[0]), first)] if there else []
    assert [first for _, first in sorted(firsts)] == sorted(first for _, first in firsts)
