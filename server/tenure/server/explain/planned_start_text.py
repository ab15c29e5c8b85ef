"""The planned start of a pending pod group, and the ones that keep it waiting, in words (R17.8, R17.23)."""

from collections.abc import Iterator
from typing import Final

from tenure.server.explain.audience_text import (
    AudienceNames,
    AudienceText,
    for_all,
    for_operators,
    format_text,
    join,
    moment,
    rounded_up,
)
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.caller_state import Certainty, PlannedStart, StartDelay
from tenure.terms.formatting import format_count, join_words
from tenure.terms.reasons import ReasonCode

_MAX_NAMED: Final = 3
_DELAYS: Final = {
    StartDelay.OVERRUN: "a pod group runs longer than planned",
    StartDelay.NODE_LOST: "a node was lost",
    StartDelay.QUEUE_BOUND: "its queue may use less than planned",
    StartDelay.NODES_IN_USE: "its nodes are in use",
}


def describe_planned_start(replay: CycleReplay, names: AudienceNames, code: ReasonCode) -> AudienceText:
    """Describe the pod group's planned start, and other planned starts that block it."""
    rows = replay.result.planned_starts or ()
    uid = replay.cluster.pod_groups[names.own].facts.uid
    own = next((row for row in rows if row.pod_group == uid), None)
    others = [row for row in rows if row.pod_group != uid and row.paused_until is None]
    return join(
        [
            *([] if own is None else _own(replay, own)),
            *(_others(replay, names, others) if code is ReasonCode.RESERVED and others else []),
        ]
    )


def planned_start(row: PlannedStart) -> str:
    """`by TIME` if it rests on time limits, else `at about TIME`."""
    assert row.start is not None
    if row.certainty is Certainty.BOUNDED:
        return f"by {moment(row.start)}"
    return f"at about {moment(rounded_up(row.start))}"


def _own(replay: CycleReplay, row: PlannedStart) -> Iterator[AudienceText]:
    if row.paused_until is not None:
        until = moment(row.paused_until)
        yield for_all(f"No capacity is reserved for it until {until}, because no more became free.")
        return
    indices = sorted({place.node for place in row.places if place.node >= 0})
    nodes = [replay.cluster.nodes[index].facts.name for index in indices]
    more = [f"{len(nodes) - _MAX_NAMED:,} more"] if len(nodes) > _MAX_NAMED else []
    number = format_count(len(nodes), "node")
    named = f"{'nodes' if len(nodes) > 1 else 'node'} {join_words([*nodes[:_MAX_NAMED], *more])}"
    where = AudienceText(number, number, named)
    if row.start is None:
        text = "It has reserved capacity on {where}, but no start is known: what becomes free is kept for it."
        yield format_text(text, where=where)
        return
    text = "It has reserved capacity on {where} and starts {when}, if nothing more important arrives."
    yield format_text(text, where=where, when=planned_start(row))
    if why := _DELAYS.get(row.delayed_by):
        yield for_all(f"The planned start moved to a later time, because {why}.")


def _others(replay: CycleReplay, names: AudienceNames, rows: list[PlannedStart]) -> Iterator[AudienceText]:
    """For which pod groups capacity is reserved, the earliest planned start first."""
    index_of = {group.facts.uid: group.index for group in replay.cluster.pod_groups}
    rows = [row for row in rows if row.pod_group in index_of]
    ranked = sorted(rows, key=lambda row: (row.start is None, row.start or 0, row.pod_group))
    parts = [
        f"{names.pod_group(index_of[row.pod_group]).operator} "
        + ("whose start is not known" if row.start is None else f"that starts {planned_start(row)}")
        for row in ranked[:_MAX_NAMED]
    ]
    more = [f"{len(ranked) - _MAX_NAMED:,} more"] if len(ranked) > _MAX_NAMED else []
    yield for_operators(f"Capacity is reserved for {join_words([*parts, *more])}.")
