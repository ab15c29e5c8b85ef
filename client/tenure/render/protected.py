"""Section of the report: protected pod groups, the preemptors they are protected from, and until when."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.terms.formatting import format_gpu_time, format_ordinal, format_remaining, join_words
from tenure.terms.reasons import GUARDED_ACTIONS
from tenure.v1 import decision_pb2 as pb
from tenure.v1.explain_pb2 import VictimRank

OWN_QUEUE: Final = "its own queue"
OTHER_QUEUES: Final = "other queues"


def render_protected(view: ResponseView, ranks: Mapping[str, str] | None = None) -> TableSection:
    """Running pod groups that guards protect, one row for each guard, end and source.

    `ranks` say by uid what their ranks as victims are.
    """
    preemptors: defaultdict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for protection in sorted(view.response.protections, key=soonest_end_first):
        if protection.scope != pb.PROTECTION_SCOPE_UNSPECIFIED:
            key = (protection.pod_group, protection.guard, until_text(view, protection), protection.source)
            preemptors[key].append(preemptor_text(view, protection))
    rows = [
        TableRow(
            (
                view.name(uid),
                _all_of(others),
                end,
                _guard_text(guard, source),
                *(() if ranks is None else (ranks.get(uid, ""),)),
            ),
            (view.queue(uid), guard, _all_of(others)),
        )
        for (uid, guard, end, source), others in preemptors.items()
    ]
    columns = (
        TableColumn("Pod group", wraps=True),
        TableColumn("From", wraps=True),
        TableColumn("Protected until", wraps=True),
        TableColumn("Guard", wraps=True),
        *(() if ranks is None else (TableColumn("As a victim", wraps=True),)),
    )
    return TableSection("Protected", columns, ("Queue", "Guard", "From"), rows)


def _guard_text(guard: str, source: str) -> str:
    """The guard and the origin of its value, if that does not name the guard."""
    if not source or guard in source:
        return source or guard
    return f"{guard}, {source}"


def until_text(view: ResponseView, protection: pb.Protection) -> str:
    """End of a protection, and whether only the minimum is protected."""
    part = ", minimum only" if protection.scope == pb.PROTECTION_SCOPE_CORE else ""
    if not protection.HasField("until"):
        return f"while running{part}"
    return f"{format_remaining(protection.until.ToNanoseconds(), view.now)}{part}"


def preemptor_text(view: ResponseView, protection: pb.Protection) -> str:
    """Preemptors that a pod group is protected from."""
    actions = list(protection.actions)
    if protection.against_pod_group:
        return view.name(protection.against_pod_group)
    if protection.against:
        is_own = protection.against == view.queue(protection.pod_group)
        return OWN_QUEUE if is_own else f"{OTHER_QUEUES} of {protection.against}"
    if GUARDED_ACTIONS.issubset(actions):
        return "all"
    return OTHER_QUEUES if protection.guard == "minruntime" else join_words(actions)


def rank_text(rank: VictimRank | None) -> str:
    """Place as a victim of its queue, next preemptors, and cost; "": the pod group is not evictable now.

    For example `evicted third in its queue; next victim of reclaim (research); costs 12 GPU minutes`.
    """
    if rank is None or not rank.place:
        return ""
    parts = [f"evicted {format_ordinal(rank.place)} in its queue"]
    parts += [f"next victim of {taker.action} ({taker.queue})" for taker in rank.next_for]
    if rank.HasField("cost"):
        parts.append(f"costs {format_gpu_time(rank.cost)}")
    return "; ".join(parts)


def soonest_end_first(protection: pb.Protection) -> tuple[bool, int]:
    """Sort key: end; protections without one come last."""
    return not protection.HasField("until"), protection.until.ToNanoseconds()


def relevant_protections(protections: Iterable[pb.Protection]) -> list[pb.Protection]:
    """Protections with a scope that no other one covers, by end."""
    found: list[pb.Protection] = []
    for each in sorted(protections, key=_extent, reverse=True):
        if each.scope and not any(_covers(other, each) for other in found):
            found.append(each)
    return sorted(found, key=soonest_end_first)


def _covers(wide: pb.Protection, narrow: pb.Protection) -> bool:
    """Whether a protection includes another one in preemptors, actions, scope and time.

    Of one guard, the narrower protection applies even if it is shorter: it is never covered.
    """
    if wide.guard == narrow.guard and _against(wide) != _against(narrow):
        return False
    return (
        _against(wide) in (("", ""), _against(narrow))
        and set(wide.actions) >= set(narrow.actions)
        and wide.scope >= narrow.scope
        and soonest_end_first(wide) >= soonest_end_first(narrow)
    )


def _against(protection: pb.Protection) -> tuple[str, str]:
    return protection.against, protection.against_pod_group


def _extent(protection: pb.Protection) -> tuple[tuple[bool, int], int, int, bool]:
    """Sort key: a protection never sorts below one that it covers."""
    end = soonest_end_first(protection)
    return end, protection.scope, len(protection.actions), not any(_against(protection))


def _all_of(others: list[str]) -> str:
    """Preemptors in words; "other queues" includes those of a subtree."""
    wide = [o for o in others if OTHER_QUEUES not in others or not o.startswith(f"{OTHER_QUEUES} of ")]
    return "all" if {OWN_QUEUE, OTHER_QUEUES} <= set(wide) else join_words(wide)
