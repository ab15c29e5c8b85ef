"""The planned starts of a response, and their counts (R17.7)."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from tenure.codec.carried.planned_starts import encode_planned_starts
from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, PatchKind
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decide_pb2 as service_pb
from tenure.wire.writer import serialize_message, tag

_ROWS: Final = tag(service_pb.DecideResponse, "planned_starts")


def planned_start_fields(cluster: Cluster, result: CycleResult) -> list[bytes]:
    """Fields of the response, with their tags: all rows; nothing if the profile plans none."""
    fields: list[bytes] = []
    for row in encode_planned_starts(cluster, result.planned_starts or ()):
        fields += [_ROWS, serialize_message(row)]
    return fields


class PlannedStartCounts(NamedTuple):
    """What metrics tell of the planned starts of a cycle."""

    by_certainty: Mapping[int, int]
    """Planned starts after the cycle by Certainty."""
    delays: Mapping[int, int]
    """Planned starts that moved to a later time, by StartDelay."""
    slips: tuple[int, ...]
    """Starts in this cycle, in nanoseconds after the first bounded plan."""
    lent: int
    """Pod groups that start on reserved capacity."""
    ended: int
    """Pod groups that are evicted from it."""
    idle: int | None = None
    """What is reserved and free after the cycle, in thousandths of a GPU; None: none are planned."""


_NONE: Final[Mapping[int, int]] = {}
NO_PLANNED_STARTS: Final = PlannedStartCounts(_NONE, _NONE, (), 0, 0)


def count_planned_starts(cluster: Cluster, result: CycleResult) -> PlannedStartCounts:
    """Counts of a cycle that plans starts."""
    if result.planned_starts is None:
        return NO_PLANNED_STARTS
    before = {row.pod_group: row for row in reversed(cluster.carried.rows(PLANNED_STARTS))}
    certainties, delays = Counter[int](), Counter[int]()
    for row in result.planned_starts:
        if row.paused_until is None:
            certainties[int(row.certainty)] += 1
        known = before.get(row.pod_group)
        if known is not None and known.start is not None and (row.start is None or row.start > known.start):
            delays[int(row.delayed_by)] += 1
    slips, lent, ended = list[int](), 0, set[int]()
    for group in result.groups:
        lent += sum(patch.kind is PatchKind.BACKFILL_FOR and bool(patch.counts) for patch in group.patches)
        if group.reason is ReasonCode.BACKFILL_ENDED:
            ended.update([cluster.tasks[step.task].pod_group for step in group.evictions])
        known = before.get(cluster.pod_groups[group.beneficiary].facts.uid) if group.bindings else None
        if known is not None and known.first_bounded is not None:
            slips.append(cluster.now - known.first_bounded)
    return PlannedStartCounts(certainties, delays, tuple(slips), lent, len(ended), result.reserved_idle)
