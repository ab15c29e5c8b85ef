"""Sections of the report: headline, outcomes, evictions, in-flight groups, warnings and next wake time."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from rich.console import Console
from tenure.render.notices import standing_notices, wait_text
from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.custom_reason import qualified
from tenure.terms.formatting import (
    count_gpus,
    format_clock,
    format_count,
    format_gpu_time,
    format_remaining,
    join_words,
)
from tenure.terms.reason_class import OUTCOMES, ReasonClass
from tenure.terms.reasons import REASONS
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse, SnapshotWarning, WarningCode
from tenure.wire.enum_labels import enum_label

WAITING_KINDS: Final = (pb.OUTCOME_KIND_WAITING_FOR_VICTIMS, pb.OUTCOME_KIND_WAITING_FOR_RELEASE)
"""Outcomes of pod groups with reserved capacity."""


def render_scheduled(view: ResponseView) -> TableSection:
    """Pod groups with pods that are bound, and their nodes."""
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for group, decision in view.decisions("bind"):
        nodes[group.beneficiary].append(decision.bind.node)
    rows = [
        TableRow(
            (view.name(uid), view.queue(uid), str(len(names)), _nodes_text(names)),
            (view.queue(uid),),
        )
        for uid, names in nodes.items()
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Queue"),
        TableColumn("Pods", right=True),
        TableColumn("Node", wraps=True),
    )
    return TableSection("Scheduled", columns, ("Queue",), rows)


def render_waiting_for_capacity(view: ResponseView) -> TableSection:
    """Pod groups with reserved capacity, and the evicted pods that still use it."""
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    owners: defaultdict[str, list[str]] = defaultdict(list)
    sets = {group.beneficiary: _set_text(group.victim_set) for group in view.response.groups}
    for _, decision in view.decisions("reserve"):
        nodes[view.owner(decision.reserve.pod)].append(decision.reserve.node)
    for _, decision in view.decisions("evict"):
        owners[decision.evict.preemptor].append(view.name(view.owner(decision.evict.pod)))
    for reserve in view.reservations:
        nodes[reserve.pod_group].append(reserve.node)
    for beneficiary, pod in view.pending_evictions:
        owners[beneficiary].append(view.name(view.owner(pod)))
    for notice, pods in standing_notices(view).items():
        owners[notice.beneficiary] += pods * [view.name(notice.victim)]
    waiting = [outcome.pod_group for outcome in view.response.outcomes if outcome.kind in WAITING_KINDS]
    ends = {each.pod_group: wait_text(view, each) for each in view.response.outcomes}
    awaited = {uid: _evicted_text(owners[uid]) + ends[uid] + sets.get(uid, "") for uid in waiting}
    rows = [
        TableRow((view.name(uid), view.queue(uid), _nodes_text(nodes[uid]), awaited[uid]), (view.queue(uid),))
        for uid in waiting
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Queue"),
        TableColumn("Reserved on", wraps=True),
        TableColumn("Waiting for", wraps=True),
    )
    return TableSection("Waiting for capacity", columns, ("Queue",), rows)


def pending_outcomes(response: DecideResponse) -> list[pb.PodGroupOutcome]:
    """Outcomes of pod groups that are neither scheduled nor have reserved capacity."""
    return [each for each in response.outcomes if each.kind not in (pb.OUTCOME_KIND_BOUND, *WAITING_KINDS)]


def render_pending(view: ResponseView, remedies: Mapping[str, str]) -> TableSection:
    """Pending pod groups, why, and what was tested to help, by uid."""
    rows = [
        TableRow(
            (
                view.name(outcome.pod_group),
                view.queue(outcome.pod_group),
                _reason_text(view, outcome, remedies.get(outcome.pod_group, "")),
            ),
            (view.queue(outcome.pod_group), reason_name(outcome.reason)),
        )
        for outcome in pending_outcomes(view.response)
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Queue"),
        TableColumn("Reason, and what helps", wraps=True),
    )
    command = "tenure explain SNAPSHOT why-pending NAME tests what would help."
    hint = command if len(rows) > len(remedies) else ""
    return TableSection("Pending", columns, ("Queue", "Reason"), rows, hint)


def render_evicted(view: ResponseView) -> TableSection:
    """Victims, their preemptors and the rule, with the number of evicted pods."""
    pods: Counter[tuple[str, str, str, str]] = Counter()
    for _, decision in view.decisions("evict"):
        evict = decision.evict
        rule = _eviction_rule(decision.reason), reason_name(decision.reason)
        pods[view.owner(evict.pod), evict.preemptor, *rule] += 1
    costs = {
        (cost.pod_group, group.beneficiary): cost.cost
        for group in view.response.groups
        for cost in group.victim_set.victim_costs
    }
    rows = [
        TableRow(
            (
                view.name(victim),
                str(number),
                view.name(preemptor),
                rule + _cost_text(costs.get((victim, preemptor))),
            ),
            (view.queue(victim), view.queue(preemptor), reason),
        )
        for (victim, preemptor, rule, reason), number in pods.items()
    ]
    columns = (
        TableColumn("Pod group"),
        TableColumn("Pods", right=True),
        TableColumn("Evicted for"),
        TableColumn("Reason", wraps=True),
    )
    return TableSection("Evicted", columns, ("Queue", "Evicted for queue", "Reason"), rows)


def _cost_text(gpu_seconds: int | None) -> str:
    return "" if gpu_seconds is None else f"; costs {format_gpu_time(gpu_seconds)}"


def outcome_text(outcome: pb.PodGroupOutcome) -> str:
    """Outcome and detail, as in the sentence of the reason: `cannot be scheduled now: DETAIL`."""
    text, detail = OUTCOMES.get(outcome.kind, "is pending"), outcome.reason.detail
    return f"{text}: {detail}" if detail else text


_DEFINITE: Final = (ReasonClass.INVALID, ReasonClass.IMPOSSIBLE, ReasonClass.EFFORT)
"""Reasons whose remedy follows from the reason itself. That of another one must be tested."""


def _reason_text(view: ResponseView, outcome: pb.PodGroupOutcome, remedy: str) -> str:
    text = outcome_text(outcome)
    if outcome.reason.HasField("until"):
        text += f"; may change at {format_remaining(outcome.reason.until.ToNanoseconds(), view.now)}"
    row = REASONS.get(outcome.reason.code)
    if not remedy and outcome.reason.custom.remedy:
        return f"{text}. What helps: {outcome.reason.custom.remedy}"
    if remedy or row is None or row.reason_class not in _DEFINITE:
        return f"{text}. {remedy}" if remedy else text
    return f"{text}. What helps: {row.remedy.format(queue=f'queue {view.queue(outcome.pod_group)}')}"


_SHOWN: Final = (pb.MINIMALITY_PROVEN, pb.MINIMALITY_LEAST)
"""That none of the victims can be left out."""


def _set_text(victims: pb.VictimSet) -> str:
    """Whether some victims may not be needed, what they cost, and what the next best ones would cost."""
    parts = []
    if victims.HasField("cost"):
        parts.append(f"costs {format_gpu_time(victims.cost)}")
    if victims.HasField("next_best_pods"):
        cost = f" for {format_gpu_time(victims.next_best_cost)}" if victims.HasField("next_best_cost") else ""
        parts.append(f"next best: {format_count(victims.next_best_pods, 'pod')}{cost}")
    if victims.excess_gpu_milli:
        parts.append(f"frees {count_gpus(victims.excess_gpu_milli)} beyond the request")
    if victims.disrupted_pods > 1 and victims.minimality == pb.MINIMALITY_HEURISTIC:
        parts.append("perhaps not all of them are needed")
    elif victims.disrupted_pods > 1 and victims.minimality not in _SHOWN:
        parts.append("smaller sets were not tried")
    return f" ({'; '.join(parts)})" if parts else ""


def _evicted_text(pod_groups: Iterable[str]) -> str:
    """Evicted pods by pod group."""
    pods = Counter(pod_groups)
    parts = [f"{format_count(number, 'pod')} of {name}" for name, number in sorted(pods.items())]
    return join_words(parts) if parts else "terminating pods on the node"


def _eviction_rule(reason: pb.Reason) -> str:
    row = REASONS.get(reason.code)
    return reason.custom.clause or ("" if row is None else row.victim_clause)


def _nodes_text(nodes: Iterable[str]) -> str:
    pods = Counter(nodes)
    return join_words(
        [node if number == 1 else f"{number} on {node}" for node, number in sorted(pods.items())]
    )


def reason_name(reason: pb.Reason) -> str:
    """Code in words: `over fair share`; that of another package with its name: `keepqueues/QueueKept`."""
    if reason.custom.code:
        return qualified(reason.custom.domain, reason.custom.code)
    return enum_label(pb.ReasonCode, reason.code).replace("_", " ")


def render_headline(view: ResponseView) -> str:
    """The time, and the summary in one sentence."""
    return f"{format_clock(view.now, view.now)}: {render_summary(view)}"


def render_summary(view: ResponseView) -> str:
    """How many pod groups are scheduled, waiting, pending and requeued."""
    kinds = [outcome.kind for outcome in view.response.outcomes]
    bound, waiting = kinds.count(pb.OUTCOME_KIND_BOUND), sum(kind in WAITING_KINDS for kind in kinds)
    pending = len(kinds) - bound - waiting
    found = [
        (number, state)
        for number, state in (
            (bound, "scheduled"),
            (waiting, f"waiting for {_awaited(view)}"),
            (pending, "pending"),
        )
        if number
    ]
    parts = [
        f"{number:,} {state}" if index else f"{format_count(number, 'pod group')} {state}"
        for index, (number, state) in enumerate(found)
    ]
    text = join_words(parts) or "no pod group has pods to schedule"
    return f"{text}{_requeued_text(view)}."


def _awaited(view: ResponseView) -> str:
    evicted = sum(1 for _ in view.decisions("evict"))
    pods = standing_notices(view).total()
    parts = [format_count(evicted, "evicted pod")] if evicted else []
    if any(each.reason.code == pb.REASON_CODE_NOTICE_GIVEN for each in view.response.outcomes):
        parts.append(f"{format_count(pods, 'pod')} with notice" if pods else "pods with notice")
    return join_words(parts) or "terminating pods"


def _requeued_text(view: ResponseView) -> str:
    number = sum(each.result == pb.NOMINATION_RESULT_REQUEUED for each in view.response.nominations)
    return f"; {number:,} past expected runtime requeued" if number else ""


def print_wake(console: Console, view: ResponseView) -> None:
    """Print when time alone can change the response, if it can."""
    if view.response.HasField("next_wake_time"):
        wake = format_clock(view.response.next_wake_time.ToNanoseconds(), view.now)
        console.print(f"Next evaluation needed at {wake}.")


STATE_NAMES: Final = {
    pb.IN_FLIGHT_GROUP_STATE_IN_FLIGHT: "keep sending",
    pb.IN_FLIGHT_GROUP_STATE_SUPERSEDED: "superseded",
    pb.IN_FLIGHT_GROUP_STATE_COMPLETED: "completed",
    pb.IN_FLIGHT_GROUP_STATE_EXPIRED: "expired, drop it",
    pb.IN_FLIGHT_GROUP_STATE_CANCELLED: "cancelled, drop it",
}


def render_in_flight(view: ResponseView) -> TableSection:
    """In-flight groups of the snapshot, and what the caller must do with each."""
    beneficiaries = {group.id: group.beneficiary for group in view.snapshot.in_flight_groups}
    rows = []
    for status in view.response.in_flight_group_statuses:
        uid, state = beneficiaries.get(status.id, ""), STATE_NAMES.get(status.state, "keep sending")
        cells = (status.id, view.name(uid), state, status.reason.detail)
        rows.append(TableRow(cells, (view.queue(uid), state)))
    columns = (
        TableColumn("Group"),
        TableColumn("For"),
        TableColumn("Action"),
        TableColumn("Reason", wraps=True),
    )
    return TableSection("In-flight groups", columns, ("Queue", "Action"), rows)


MAX_NAMED: Final = 3
"""Pod groups that are named for each kind of warning."""


def render_warnings(view: ResponseView) -> TableSection:
    """One row for each kind of warning: pod groups, and how the input of the first was interpreted."""
    by_code: dict[int, list[SnapshotWarning]] = {}
    for warning in view.response.warnings:
        by_code.setdefault(warning.code, []).append(warning)
    rows = [_warning_row(view, code, warnings) for code, warnings in by_code.items()]
    columns = (
        TableColumn("Warning", wraps=True),
        TableColumn("Count", right=True),
        TableColumn("Examples", wraps=True),
        TableColumn("Interpretation", wraps=True),
    )
    return TableSection("Warnings", columns, ("Warning",), rows)


def _warning_row(view: ResponseView, code: int, warnings: list[SnapshotWarning]) -> TableRow:
    kind = enum_label(WarningCode, code).replace("_", " ")
    number = sum(warning.count for warning in warnings)
    uids = [uid for warning in warnings for uid in warning.pod_groups]
    names = [view.name(uid) for uid in uids[:MAX_NAMED]]
    return TableRow((kind, f"{number:,}", _examples(names, number), warnings[0].detail), (kind,))


def _examples(names: list[str], number: int) -> str:
    rest = number - len(names)
    return join_words([*names, f"{rest:,} more"] if rest else names)
