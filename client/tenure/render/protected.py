"""Who may not be touched, by whom, until when and by whose word."""

from collections import defaultdict
from typing import Final

from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_remaining, join_words
from tenure.v1 import decision_pb2 as pb

_GUARDED_ACTIONS: Final = {"reclaim", "preempt", "consolidation", "requeue"}
"""Built-in actions that guards know: a protection from all of them is one from all pod groups."""

OWN_QUEUE: Final = "its own queue"
OTHER_QUEUES: Final = "other queues"


def render_protected(view: ResponseView) -> TableSection:
    """Running pod groups that may not be touched, from whom, until when and by whose word."""
    whom: defaultdict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for protection in sorted(view.response.protections, key=soonest_end_first):
        if protection.scope != pb.PROTECTION_SCOPE_UNSPECIFIED:
            key = (protection.pod_group, protection.guard, until_text(view, protection), protection.source)
            whom[key].append(preemptor_text(view, protection))
    lines = [
        TableRow(
            (view.name(uid), _all_of(others), end, source or guard), (view.queue(uid), guard, _all_of(others))
        )
        for (uid, guard, end, source), others in whom.items()
    ]
    columns = (
        TableColumn("Pod group", wraps=True),
        TableColumn("From", wraps=True),
        TableColumn("Protected until", wraps=True),
        TableColumn("Guard", wraps=True),
    )
    return TableSection("Protected", columns, ("Queue", "Guard", "From"), lines)


def until_text(view: ResponseView, protection: pb.Protection) -> str:
    """How long it is protected, and whether only its minimum is."""
    part = ", minimum only" if protection.scope == pb.PROTECTION_SCOPE_CORE else ""
    if not protection.HasField("until"):
        return f"while running{part}"
    return f"{format_remaining(protection.until.ToNanoseconds(), view.now)}{part}"


def preemptor_text(view: ResponseView, protection: pb.Protection) -> str:
    """Those who may not take it."""
    actions = list(protection.actions)
    if protection.against_pod_group:
        return view.name(protection.against_pod_group)
    if protection.against:
        is_own = protection.against == view.queue(protection.pod_group)
        return OWN_QUEUE if is_own else f"{OTHER_QUEUES} of {protection.against}"
    if set(actions) >= _GUARDED_ACTIONS:
        return "all"
    return OTHER_QUEUES if protection.guard == "minruntime" else join_words(actions)


def soonest_end_first(protection: pb.Protection) -> tuple[bool, int]:
    """By end; what lasts for as long as the pod group runs comes last."""
    return not protection.HasField("until"), protection.until.ToNanoseconds()


def _all_of(others: list[str]) -> str:
    """All of them as one phrase; "other queues" includes those of a part of the tree."""
    wide = [o for o in others if OTHER_QUEUES not in others or not o.startswith(f"{OTHER_QUEUES} of ")]
    return "all" if {OWN_QUEUE, OTHER_QUEUES} <= set(wide) else join_words(wide)
