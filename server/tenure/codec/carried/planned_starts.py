"""Decode and encode planned starts of pod groups that wait."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final

from tenure.codec.checks import MISSING, amount, check_enum, time
from tenure.solver.model.caller_state import Certainty, PlannedPods, PlannedStart, StartDelay
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_AMOUNT, MAX_COUNT
from tenure.wire.timestamps import timestamp
from tenure.wire.violations import ViolationCollector

_CERTAINTIES: Final = frozenset((0, *Certainty))
_DELAYS: Final = frozenset(StartDelay)
_ON_WIRE: Final = {
    Certainty.BOUNDED: pb.CERTAINTY_BOUNDED,
    Certainty.EXPECTED: pb.CERTAINTY_EXPECTED,
    Certainty.ASSUMED: pb.CERTAINTY_ASSUMED,
    Certainty.UNKNOWN: pb.CERTAINTY_UNKNOWN,
}
_DELAYS_ON_WIRE: Final = {
    StartDelay.UNSPECIFIED: pb.START_DELAY_UNSPECIFIED,
    StartDelay.OVERRUN: pb.START_DELAY_OVERRUN,
    StartDelay.NODE_LOST: pb.START_DELAY_NODE_LOST,
    StartDelay.QUEUE_BOUND: pb.START_DELAY_QUEUE_BOUND,
    StartDelay.NODES_IN_USE: pb.START_DELAY_NODES_IN_USE,
}


def decode_planned_starts(
    messages: Sequence[pb.PlannedStart],
    nodes: Mapping[str, int],
    shapes: Mapping[str, int],
    findings: ViolationCollector,
) -> tuple[PlannedStart, ...]:
    """Planned starts by uid of the pod group. `nodes` and `shapes` map names and IDs to indices."""
    rows = [_planned_start(i, message, nodes, shapes, findings) for i, message in enumerate(messages)]
    return tuple(sorted(rows, key=attrgetter("pod_group")))


def _planned_start(
    i: int,
    message: pb.PlannedStart,
    nodes: Mapping[str, int],
    shapes: Mapping[str, int],
    findings: ViolationCollector,
) -> PlannedStart:
    findings.step()
    for field in ("pod_group", "since"):
        if not (message.pod_group if field == "pod_group" else message.HasField("since")):
            findings.add(i, field, MISSING)
    is_known = check_enum(message.certainty, _CERTAINTIES, findings, i, "certainty")
    is_known_delay = check_enum(message.delayed_by, _DELAYS, findings, i, "delayed_by")
    start = _time(i, message, "start_time", findings)
    certainty = Certainty(message.certainty) if is_known and message.certainty else Certainty.UNKNOWN
    since = _time(i, message, "since", findings) or 0
    grown = _time(i, message, "grown_time", findings)
    return PlannedStart(
        pod_group=message.pod_group,
        since=since,
        grown=since if grown is None else grown,
        held=amount(message.held, findings, i, "held", MAX_AMOUNT),
        start=start,
        certainty=certainty if start is not None else Certainty.UNKNOWN,
        places=_places(i, message, nodes, shapes, findings),
        first_bounded=_time(i, message, "first_bounded_start", findings),
        paused_until=_time(i, message, "paused_until", findings),
        delayed_by=StartDelay(message.delayed_by) if is_known_delay else StartDelay.UNSPECIFIED,
    )


def _time(i: int, message: pb.PlannedStart, field: str, findings: ViolationCollector) -> int | None:
    return time(getattr(message, field), findings, i, field) if message.HasField(field) else None


def _places(
    i: int,
    message: pb.PlannedStart,
    nodes: Mapping[str, int],
    shapes: Mapping[str, int],
    findings: ViolationCollector,
) -> tuple[PlannedPods, ...]:
    """Places by node and shape; equal ones are added up."""
    found: dict[tuple[int, int], int] = {}
    for at, place in enumerate(message.pods):
        findings.step()
        pods = amount(place.pods, findings, i, f"pods[{at}].pods", MAX_COUNT)
        key = nodes.get(place.node, NOWHERE), shapes.get(place.shape, NOWHERE)
        found[key] = min(found.get(key, 0) + pods, MAX_COUNT)
    return tuple([PlannedPods(node, shape, pods) for (node, shape), pods in sorted(found.items())])


def encode_planned_starts(cluster: Cluster, rows: Iterable[PlannedStart]) -> list[pb.PlannedStart]:
    """Rows by uid of the pod group."""
    return [
        pb.PlannedStart(
            pod_group=row.pod_group,
            since=timestamp(row.since),
            grown_time=timestamp(row.grown),
            held=row.held,
            start_time=None if row.start is None else timestamp(row.start),
            certainty=_ON_WIRE[row.certainty],
            pods=[
                pb.PlannedPods(
                    node=cluster.nodes[each.node].facts.name,
                    shape=cluster.shapes[each.shape].id,
                    pods=each.pods,
                )
                for each in row.places
            ],
            first_bounded_start=None if row.first_bounded is None else timestamp(row.first_bounded),
            paused_until=None if row.paused_until is None else timestamp(row.paused_until),
            delayed_by=_DELAYS_ON_WIRE[row.delayed_by],
        )
        for row in rows
    ]
