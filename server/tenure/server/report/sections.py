"""Who starts, who waits, who yields to whom."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from tenure.server.labels import label
from tenure.server.report.section import Column, Line, Section
from tenure.server.report.words import count, listed, remaining
from tenure.server.view import View
from tenure.v1 import decision_pb2 as pb

WHY_EVICTED: Final = {
    pb.REASON_CODE_RECLAIMED: "its queue is above its share, the other below",
    pb.REASON_CODE_PREEMPTED: "lower priority in the same queue",
    pb.REASON_CODE_CONSOLIDATED: "moves, so that scattered room becomes usable",
    pb.REASON_CODE_REQUEUED: "ran longer than expected, the other has a higher priority",
    pb.REASON_CODE_STALE_GANG: "ran too long with fewer pods than its minimum",
}

SOON: Final = (pb.OUTCOME_KIND_WAITING_FOR_VICTIMS, pb.OUTCOME_KIND_WAITING_FOR_RELEASE)
"""Outcomes of pod groups that have room which is not free yet."""


def starts(view: View) -> Section:
    """Pod groups whose pods are bound now."""
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    for group, decision in view.steps("bind"):
        nodes[group.beneficiary].append(decision.bind.node)
    lines = [
        Line(
            (view.name(uid), view.queue(uid), str(len(places)), _places(places)),
            (view.queue(uid),),
        )
        for uid, places in nodes.items()
    ]
    columns = (Column("Pod group"), Column("Queue"), Column("Pods", right=True), Column("Node", wraps=True))
    return Section("Starts now", columns, ("Queue",), lines)


def starts_soon(view: View) -> Section:
    """Pod groups whose room is kept for them until others have left it."""
    nodes: defaultdict[str, list[str]] = defaultdict(list)
    leaving: defaultdict[str, list[str]] = defaultdict(list)
    for group, decision in view.steps("hold"):
        nodes[group.beneficiary].append(decision.hold.node)
    for _, decision in view.steps("evict"):
        leaving[decision.evict.beneficiary].append(view.name(view.owner(decision.evict.pod)))
    for hold in view.kept_holds:
        nodes[hold.pod_group].append(hold.node)
    for beneficiary, pod in view.leaving_already:
        leaving[beneficiary].append(view.name(view.owner(pod)))
    lines = [
        Line(
            (view.name(uid), view.queue(uid), _places(nodes[uid]), _who_leaves(leaving[uid])),
            (view.queue(uid),),
        )
        for uid in (outcome.pod_group for outcome in view.response.outcomes if outcome.kind in SOON)
    ]
    columns = (
        Column("Pod group"),
        Column("Queue"),
        Column("Room kept on", wraps=True),
        Column("As soon as", wraps=True),
    )
    return Section("Starts soon", columns, ("Queue",), lines)


def waits(view: View) -> Section:
    """Pod groups that got no room, why, and what would help."""
    lines = [
        Line(
            (view.name(outcome.pod_group), view.queue(outcome.pod_group), _why(view, outcome)),
            (view.queue(outcome.pod_group), _reason_name(outcome.reason.code)),
        )
        for outcome in view.response.outcomes
        if outcome.kind not in (pb.OUTCOME_KIND_BOUND, *SOON)
    ]
    columns = (Column("Pod group"), Column("Queue"), Column("Why, and what helps", wraps=True))
    return Section("Waits", columns, ("Queue", "Reason"), lines)


def yields(view: View) -> Section:
    """Pod groups that lose pods, the pod group that gets the room, and by which rule."""
    pods: Counter[tuple[str, str, pb.ReasonCode]] = Counter()
    for _, decision in view.steps("evict"):
        evict = decision.evict
        pods[view.owner(evict.pod), evict.beneficiary, decision.reason.code] += 1
    lines = [
        Line(
            (view.name(victim), str(number), view.name(beneficiary), WHY_EVICTED.get(code, "")),
            (view.queue(victim), view.queue(beneficiary), _reason_name(code)),
        )
        for (victim, beneficiary, code), number in pods.items()
    ]
    columns = (
        Column("Pod group"),
        Column("Pods", right=True),
        Column("Yields to"),
        Column("Why", wraps=True),
    )
    return Section("Yields", columns, ("Queue", "To queue", "Reason"), lines)


def _why(view: View, outcome: pb.PodGroupOutcome) -> str:
    text = view.told(outcome.pod_group, outcome.reason.message)
    if outcome.reason.HasField("until"):
        text += f" ({remaining(outcome.reason.until.ToNanoseconds(), view.now)})"
    return text


def _who_leaves(pod_groups: Iterable[str]) -> str:
    pods = Counter(pod_groups)
    parts = [f"{count(number, 'pod')} of {name}" for name, number in sorted(pods.items())]
    verb = "has" if pods.total() == 1 else "have"
    return f"{listed(parts)} {verb} left" if parts else "others on the node have left"


def _places(nodes: Iterable[str]) -> str:
    pods = Counter(nodes)
    return listed([node if number == 1 else f"{number} on {node}" for node, number in sorted(pods.items())])


def _reason_name(code: pb.ReasonCode) -> str:
    """The code as words: `over fair share`."""
    return label(pb.ReasonCode, code).replace("_", " ")
