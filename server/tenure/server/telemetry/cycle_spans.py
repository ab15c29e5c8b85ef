"""From the timeline of a cycle to spans, within the span of the call that asked for it."""

from collections.abc import Mapping, Sequence
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue
from tenure.server.telemetry import names
from tenure.server.telemetry.timeline import NO_PARENT, Entry, Timeline
from tenure.solver.framework.observer import Part
from tenure.v1.decision_service_pb2 import DecideResponse

MOST_DECISIONS: Final = 64
"""Groups of the decision that a cycle's span names by id."""
_TRACER: Final = trace.get_tracer("tenure.server")


def is_watched() -> bool:
    """Whether spans of the call at hand are kept, so that a close look at the cycle is worth its cost."""
    return trace.get_current_span().is_recording()


def write(timeline: Timeline, answer: DecideResponse, uids: Sequence[str] = ()) -> None:
    """Write the spans of a cycle that was looked at closely, for spans of the call are kept.

    `uids` are those of the cluster's pod groups in their order; without them no workload is named.
    """
    begin = timeline.entries[0].begin
    cycle = _TRACER.start_span(names.CYCLE, attributes=_of_answer(answer), start_time=begin)
    for group in answer.groups[:MOST_DECISIONS]:
        about: dict[str, AttributeValue] = {
            names.DECISION: group.id,
            names.ACTION: group.action,
            names.STEPS: len(group.decisions),
        }
        cycle.add_event(names.DECISION_EVENT, about, timeline.entries[-1].end)
    _write_entries(timeline, trace.set_span_in_context(cycle), uids)
    cycle.end(max(entry.end for entry in timeline.entries))


def _of_answer(answer: DecideResponse) -> dict[str, AttributeValue]:
    return {
        names.CLUSTER: answer.based_on.cluster_id,
        names.NODE_POOL: answer.based_on.node_pool,
        names.VERSION: answer.based_on.version,
        names.PROFILE: answer.based_on.profile_digest,
        names.GROUPS: len(answer.groups),
        names.STOPPED_EARLY: answer.stopped_early,
    }


def _write_entries(timeline: Timeline, cycle: Context, uids: Sequence[str]) -> None:
    """Parents come before their children in a timeline."""
    spans: list[Span] = []
    contexts: list[Context] = []
    action = ""
    for entry in timeline.entries:
        action = entry.name if entry.part is Part.ACTION else action
        within = cycle if entry.parent == NO_PARENT else contexts[entry.parent]
        attributes = _of_entry(entry, action, timeline.decided)
        span = _TRACER.start_span(_name(entry), within, attributes=attributes, start_time=entry.begin)
        if uids and entry.part is Part.POD_GROUP and entry.pod_group is not None:
            span.add_event(names.POD_GROUP_EVENT, {names.POD_GROUP_UID: uids[entry.pod_group]}, entry.begin)
        spans.append(span)
        contexts.append(trace.set_span_in_context(span))
    for span, entry in zip(reversed(spans), reversed(timeline.entries), strict=True):
        span.end(entry.end)


def _name(entry: Entry) -> str:
    return f"{names.SPAN_OF[entry.part]} {entry.name}".rstrip()


def _of_entry(entry: Entry, action: str, decided: Mapping[tuple[str, int], str]) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {f"{names.MORE}{what}": n for what, n in entry.counts.items()}
    match entry.part:
        case Part.ACTION:
            found[names.ACTION] = entry.name
        case Part.PLUGIN:
            found[names.PLUGIN] = entry.name
            found[names.HOOK], _, found[names.OUTCOME] = entry.outcome.partition(":")
        case Part.POD_GROUP | Part.SCENARIO:
            found[names.OUTCOME] = entry.outcome
    if entry.part is Part.POD_GROUP and entry.pod_group is not None:
        found[names.POD_GROUP_INDEX] = entry.pod_group
        if entry.outcome == "room" and (id := decided.get((action, entry.pod_group))):
            found[names.DECISION] = id
    return found
