"""Decode reservations of pod groups that wait, and merge them with those of a change."""

from collections.abc import Container, Mapping, Sequence
from operator import attrgetter
from typing import Final

from tenure.codec.checks import MISSING, amount, check_enum, time
from tenure.solver.model.caller_state import Certainty, Reservation, ReservedPods, StartDelay
from tenure.solver.model.placement import NOWHERE
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_AMOUNT, MAX_COUNT
from tenure.wire.violations import ViolationCollector

_CERTAINTIES: Final = frozenset((0, *Certainty))
_DELAYS: Final = frozenset(StartDelay)


def decode_reservations(
    messages: Sequence[pb.Reservation],
    nodes: Mapping[str, int],
    shapes: Mapping[str, int],
    findings: ViolationCollector,
) -> tuple[Reservation, ...]:
    """Reservations by uid of the pod group. `nodes` and `shapes` map names and IDs to indices."""
    rows = [_reservation(i, message, nodes, shapes, findings) for i, message in enumerate(messages)]
    return tuple(sorted(rows, key=attrgetter("pod_group")))


def _reservation(
    i: int,
    message: pb.Reservation,
    nodes: Mapping[str, int],
    shapes: Mapping[str, int],
    findings: ViolationCollector,
) -> Reservation:
    findings.step()
    for field in ("pod_group", "since"):
        if not (message.pod_group if field == "pod_group" else message.HasField("since")):
            findings.add(i, field, MISSING)
    is_known = check_enum(message.certainty, _CERTAINTIES, findings, i, "certainty")
    is_known_delay = check_enum(message.delayed_by, _DELAYS, findings, i, "delayed_by")
    start = _time(i, message, "planned_start", findings)
    certainty = Certainty(message.certainty) if is_known and message.certainty else Certainty.UNKNOWN
    since = _time(i, message, "since", findings) or 0
    grown = _time(i, message, "grown_time", findings)
    return Reservation(
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


def _time(i: int, message: pb.Reservation, field: str, findings: ViolationCollector) -> int | None:
    return time(getattr(message, field), findings, i, field) if message.HasField(field) else None


def _places(
    i: int,
    message: pb.Reservation,
    nodes: Mapping[str, int],
    shapes: Mapping[str, int],
    findings: ViolationCollector,
) -> tuple[ReservedPods, ...]:
    """Places by node and shape; equal ones are added up."""
    found: dict[tuple[int, int], int] = {}
    for at, place in enumerate(message.pods):
        findings.step()
        pods = amount(place.pods, findings, i, f"pods[{at}].pods", MAX_COUNT)
        key = nodes.get(place.node, NOWHERE), shapes.get(place.shape, NOWHERE)
        found[key] = min(found.get(key, 0) + pods, MAX_COUNT)
    return tuple([ReservedPods(node, shape, pods) for (node, shape), pods in sorted(found.items())])


def merge_reservations(
    before: Sequence[Reservation], sent: Sequence[Reservation], removed: Container[str]
) -> tuple[Reservation, ...]:
    """Reservations after a change, by uid of the pod group."""
    kept = {row.pod_group: row for row in reversed(before) if row.pod_group not in removed}
    kept.update((row.pod_group, row) for row in reversed(sent))
    return tuple([kept[uid] for uid in sorted(kept)])
