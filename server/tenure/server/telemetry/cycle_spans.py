"""Spans of a cycle from its timeline, and names of spans, attributes and events.

Attribute values except IDs, versions and counts come from finite sets. Workloads are named in events only,
and only if the configuration permits it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue
from tenure.codec.encoded_response import CycleSummary
from tenure.server.telemetry.timeline import NO_PARENT, Timeline, TimelineEntry
from tenure.solver.framework.observer import Phase

CYCLE: Final = "tenure.cycle"
DELTA: Final = "tenure.state.delta"
SPAN_OF: Final = {
    Phase.DECODE: "tenure.snapshot.decode",
    Phase.SESSION: "tenure.session",
    Phase.ACTION: "tenure.action",
    Phase.POD_GROUP: "tenure.pod_group",
    Phase.SCENARIO: "tenure.scenario",
    Phase.PLUGIN: "tenure.plugin",
    Phase.FOLD: "tenure.decision.fold",
    Phase.DIAGNOSE: "tenure.decision.diagnose",
    Phase.ENCODE: "tenure.decision.encode",
}
"""Span names; that of an action or plugin is appended after a space: `tenure.action reclaim`."""

CLUSTER: Final = "tenure.cluster"
NODE_POOL: Final = "tenure.node_pool"
VERSION: Final = "tenure.snapshot.version"
PROFILE: Final = "tenure.profile.digest"
GROUPS: Final = "tenure.decision.groups"
STOPPED_EARLY: Final = "tenure.stopped_early"
ACTION: Final = "tenure.action"
PLUGIN: Final = "tenure.plugin"
EXTENSION_POINT: Final = "tenure.extension_point"
OUTCOME: Final = "tenure.outcome"
POD_GROUP_INDEX: Final = "tenure.pod_group.index"
"""Position of the pod group by uid: stable within a cycle, and no name."""
DECISION: Final = "tenure.decision.id"
OMITTED: Final = "tenure.omitted."
"""Prefix of the counts of omitted spans: `tenure.omitted.scenarios`."""

DECISION_EVENT: Final = "tenure.decision"
DECISION_COUNT: Final = "tenure.decision.count"
POD_GROUP_EVENT: Final = "tenure.pod_group"
POD_GROUP_UID: Final = "tenure.pod_group.uid"


MAX_DECISIONS: Final = 64
"""Maximum number of decision groups whose IDs are attributes of the cycle span."""
_TRACER: Final = trace.get_tracer("tenure.server")


def is_recording() -> bool:
    """Whether the current span is recorded, which makes a detailed timeline worth its cost."""
    return trace.get_current_span().is_recording()


def write(timeline: Timeline, summary: CycleSummary, uids: Sequence[str] = ()) -> None:
    """Write the spans of a detailed timeline.

    `uids` are the pod group uids in order; without them no workload is named.
    """
    begin = timeline.entries[0].begin
    cycle = _TRACER.start_span(CYCLE, attributes=_cycle_attributes(summary), start_time=begin)
    for group in summary.groups[:MAX_DECISIONS]:
        about: dict[str, AttributeValue] = {
            DECISION: group.id,
            ACTION: group.action,
            DECISION_COUNT: group.decisions,
        }
        cycle.add_event(DECISION_EVENT, about, timeline.entries[-1].end)
    _write_entries(timeline, trace.set_span_in_context(cycle), uids)
    cycle.end(max(entry.end for entry in timeline.entries))


def _cycle_attributes(summary: CycleSummary) -> dict[str, AttributeValue]:
    return {
        CLUSTER: summary.cluster_id,
        NODE_POOL: summary.node_pool,
        VERSION: summary.version,
        PROFILE: summary.profile_digest,
        GROUPS: len(summary.groups),
        STOPPED_EARLY: summary.stopped_early,
    }


def _write_entries(timeline: Timeline, cycle: Context, uids: Sequence[str]) -> None:
    """Parents precede their children in a timeline."""
    spans: list[Span] = []
    contexts: list[Context] = []
    action = ""
    for entry in timeline.entries:
        action = entry.name if entry.phase is Phase.ACTION else action
        within = cycle if entry.parent == NO_PARENT else contexts[entry.parent]
        attributes = _of_entry(entry, action, timeline.group_ids)
        span = _TRACER.start_span(_name(entry), within, attributes=attributes, start_time=entry.begin)
        if uids and entry.phase is Phase.POD_GROUP and entry.pod_group is not None:
            span.add_event(POD_GROUP_EVENT, {POD_GROUP_UID: uids[entry.pod_group]}, entry.begin)
        spans.append(span)
        contexts.append(trace.set_span_in_context(span))
    for span, entry in zip(reversed(spans), reversed(timeline.entries), strict=True):
        span.end(entry.end)


def _name(entry: TimelineEntry) -> str:
    return f"{SPAN_OF[entry.phase]} {entry.name}".rstrip()


def _of_entry(
    entry: TimelineEntry, action: str, decided: Mapping[tuple[str, int], str]
) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {f"{OMITTED}{what}": n for what, n in entry.counts.items()}
    match entry.phase:
        case Phase.ACTION:
            found[ACTION] = entry.name
        case Phase.PLUGIN:
            found[PLUGIN] = entry.name
            found[EXTENSION_POINT], _, found[OUTCOME] = entry.outcome.partition(":")
        case Phase.POD_GROUP | Phase.SCENARIO:
            found[OUTCOME] = entry.outcome
    if entry.phase is Phase.POD_GROUP and entry.pod_group is not None:
        found[POD_GROUP_INDEX] = entry.pod_group
        if entry.outcome == "placed" and (id := decided.get((action, entry.pod_group))):
            found[DECISION] = id
    return found
