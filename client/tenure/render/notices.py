"""Notices that stand after a response: pod groups that are to be evicted, for which other ones, and when."""

from collections import Counter
from typing import NamedTuple

from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_clock, format_remaining
from tenure.v1 import decision_pb2 as pb


class StandingNotice(NamedTuple):
    """Pods of one pod group that one decision group announced to evict."""

    victim: str
    """Uid of the pod group."""
    beneficiary: str
    """Uid of the pod group that they are to be evicted for."""
    action: str
    evict_time: int
    """When they are to be evicted, in nanoseconds since the epoch."""
    is_new: bool
    """Whether this response gives the notice."""


def standing_notices(view: ResponseView) -> Counter[StandingNotice]:
    """Notices with their numbers of pods: those of this response, and of groups that stay in flight."""
    found = Counter[StandingNotice]()
    for group, decision in view.decisions("notify"):
        notice = decision.notify
        end = notice.evict_time.ToNanoseconds()
        found[StandingNotice(notice.pod_group, group.beneficiary, group.action, end, is_new=True)] += 1
    states = {status.id: status.state for status in view.response.in_flight_group_statuses}
    for flight in view.snapshot.in_flight_groups:
        if states.get(flight.id) != pb.IN_FLIGHT_GROUP_STATE_IN_FLIGHT:
            continue
        end = flight.evict_time.ToNanoseconds()
        for step in flight.notices:
            if step.pod in view.pods and view.pods[step.pod].node == step.node:
                victim = step.pod_group or view.owner(step.pod)
                found[StandingNotice(victim, flight.beneficiary, flight.action, end, is_new=False)] += 1
    return found


def earliest_start(view: ResponseView, outcome: pb.PodGroupOutcome) -> int | None:
    """When a pod group could start whose victims have notice: then they are evicted and have terminated.

    None: it waits for no notice. A victim whose termination grace is not known counts as gone at once.
    """
    if outcome.reason.code != pb.REASON_CODE_NOTICE_GIVEN:
        return None
    notices = [each for each in standing_notices(view) if each.beneficiary == outcome.pod_group]
    graces = [
        view.pod_groups[each.victim].termination_grace.ToNanoseconds()
        for each in notices
        if each.victim in view.pod_groups
    ]
    return outcome.reason.until.ToNanoseconds() + max(graces, default=0)


def wait_text(view: ResponseView, outcome: pb.PodGroupOutcome) -> str:
    """Until when a pod group waits for victims with notice: `, until 10:42 UTC (in 7m) at least`; else ""."""
    start = earliest_start(view, outcome)
    return "" if start is None else f", until {format_remaining(start, view.now)} at least"


def render_notices(view: ResponseView) -> TableSection:
    """Pod groups with notice: when and for which pod group they are evicted, and since when they know."""
    notices = sorted(standing_notices(view).items(), key=lambda item: (item[0].evict_time, item[0]))
    rows = [
        TableRow(
            (
                view.name(notice.victim),
                str(pods),
                format_remaining(notice.evict_time, view.now),
                view.name(notice.beneficiary),
                notice.action,
                "now" if notice.is_new else _given(view, notice.victim),
            ),
            (view.queue(notice.victim), view.queue(notice.beneficiary), notice.action),
        )
        for notice, pods in notices
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Pods", right=True),
        TableColumn("Evicted at", wraps=True),
        TableColumn("Evicted for"),
        TableColumn("Action"),
        TableColumn("Given", wraps=True),
    )
    return TableSection("With notice", columns, ("Queue", "Evicted for queue", "Action"), rows)


def _given(view: ResponseView, uid: str) -> str:
    group = view.pod_groups.get(uid)
    if group is None or not group.HasField("last_notice_time"):
        return "earlier"
    return format_clock(group.last_notice_time.ToNanoseconds(), view.now)


def notice_text(view: ResponseView, notice: StandingNotice) -> str:
    """A notice in a cell: `evicted at 10:42 UTC (in 7m) for NAME by preempt`."""
    end = format_remaining(notice.evict_time, view.now)
    return f"evicted at {end} for {view.name(notice.beneficiary)} by {notice.action}"
