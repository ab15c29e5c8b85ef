"""A state with rows that are set aside: deltas lead to the same state as a push of all rows sent."""

from collections.abc import Callable
from typing import Final

import pytest
from tenure.server.settings import ServerLimits
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import State, full_state
from tenure.server.state.versions import next_state
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.deltas import compute_delta

from tests.properties.generators.draw import Draw, SeededDraw
from tests.state.column_forms import mix_columns
from tests.state.generated_snapshots import generate_next_snapshot, generate_snapshot
from tests.state.named_cluster import name_cluster
from tests.state.short_engine import short_engine

LIMITS: Final = ServerLimits()
ENGINE: Final = short_engine()
WALKS, STEPS = 60, 6


def damage_pod(draw: Draw, snapshot: ClusterSnapshot) -> None:
    if snapshot.pods:
        pod = draw.choice(list(snapshot.pods))
        match draw.integer(0, 3):
            case 0:
                pod.status = 99  # type: ignore[assignment]
            case 1:
                pod.shape = "gone"
            case 2:
                pod.name = "x" * 300
            case 3:
                pod.creation_time.nanos = -1


def damage_pod_group(draw: Draw, snapshot: ClusterSnapshot) -> None:
    if snapshot.pod_groups:
        group = draw.choice(list(snapshot.pod_groups))
        match draw.integer(0, 2):
            case 0:
                group.eviction_count = -1
            case 1:
                group.queue = "q" * 254
            case 2:
                group.topology_constraint.topology = "gone"


def damage_node(draw: Draw, snapshot: ClusterSnapshot) -> None:
    if snapshot.nodes:
        node = draw.choice(list(snapshot.nodes))
        if draw.chance(50):
            node.allocatable.cpu_milli = -1
        else:
            node.taints.add(key="k", effect=99)  # type: ignore[arg-type]


def damage_shape(draw: Draw, snapshot: ClusterSnapshot) -> None:
    if snapshot.shapes:
        draw.choice(list(snapshot.shapes)).requests.memory_bytes = -1


def damage_queue(draw: Draw, snapshot: ClusterSnapshot) -> None:
    if snapshot.queues:
        draw.choice(list(snapshot.queues)).parent = "gone"


DAMAGES: Final[tuple[Callable[[Draw, ClusterSnapshot], None], ...]] = (
    *(damage_pod, damage_pod, damage_pod_group, damage_node, damage_shape, damage_queue),
)


def damaged(draw: Draw, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The snapshot with some invalid rows, or none."""
    result = ClusterSnapshot()
    result.CopyFrom(snapshot)
    for _ in range(draw.integer(0, 3)):
        draw.choice(DAMAGES)(draw, result)
    return result


def pushed(snapshot: ClusterSnapshot) -> State:
    return full_state("e", snapshot, DEFAULT_ROWS, texts=LIMITS, has_long_texts=True)


def keys(state: State) -> set[tuple[str, bool]]:
    rows = state.set_aside.message.rows if state.set_aside else ()
    return {(row.key, row.dependent) for row in rows}


def check_same(state: State, sent: ClusterSnapshot) -> None:
    whole = pushed(sent)
    assert keys(state) == keys(whole)
    assert (state.cluster.nodes, state.cluster.queues) == (whole.cluster.nodes, whole.cluster.queues)
    assert name_cluster(state.cluster) == name_cluster(whole.cluster)
    request = DecideRequest(state=state.reference)
    responses = [ENGINE.decide_state(*one.with_time(sent.now), request) for one in (state, whole)]
    assert responses[0] == responses[1]


@pytest.mark.parametrize("chunk", range(4))
def test_deltas_and_pushes_of_invalid_rows_give_equal_states(chunk: int) -> None:
    for seed in range(chunk, WALKS, 4):
        draw = SeededDraw(seed)
        valid = generate_snapshot(draw, draw.integer(1, 3), draw.integer(1, 12))
        sent = damaged(draw, valid)
        state = pushed(mix_columns(draw, sent))
        for _ in range(STEPS):
            valid = generate_next_snapshot(draw, valid)
            after = damaged(draw, valid)
            state = next_state(state, compute_delta(sent, after), 2**30, DEFAULT_ROWS, texts=LIMITS)
            sent = after
            check_same(state, sent)
        healed = generate_next_snapshot(draw, valid)
        state = next_state(state, compute_delta(sent, healed), 2**30, DEFAULT_ROWS, texts=LIMITS)
        assert state.set_aside is None
        check_same(state, healed)
