"""The checker reports evictions without guard verdicts, and violated or invalid protections."""

import pytest
from tenure.v1 import decision_pb2

from tests.checker.detection import sound_response
from tests.checker.detection.mutations import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    find,
    find_decision,
    rows,
    set_fields,
)

NOTHING, CORE, ALL = (
    decision_pb2.PROTECTION_SCOPE_UNSPECIFIED,
    decision_pb2.PROTECTION_SCOPE_CORE,
    decision_pb2.PROTECTION_SCOPE_ALL,
)


def _evict(response: Response) -> decision_pb2.Evict:
    return find_decision(response, "evict-old-0").evict


def _stale_gang(response: Response, *guards: str) -> object:
    evictions = [sound_response.evict(f"stretch-{number}", "n2", "", guards=guards) for number in range(2)]
    return response.groups.add(
        id="g3", action="stalegangeviction", beneficiary="stretch", decisions=evictions
    )


CHECKS: Table = {
    "nobody was asked": (
        lambda s, r: _evict(r).ClearField("guards"),
        "guard: reclaim evicts pod old-0: no guard was asked",
    ),
    "a guard that is always on was not asked": (
        lambda s, r: set_fields(_evict(r).guards[0], guard="minruntime"),
        "guard: reclaim evicts pod old-0: preemptibility, which is always on, was not asked",
    ),
    "a guard is named twice": (
        lambda s, r: _evict(r).guards.add(guard="preemptibility"),
        "guard 'preemptibility' is named 2 times",
    ),
    "a guard without a name": (lambda s, r: _evict(r).guards.add(), "guard '' is named 1 times"),
    "a guard that protects all": (
        lambda s, r: _evict(r).guards.add(guard="x", scope=ALL),
        "guard: reclaim evicts pod old-0: x protects all of its pod group",
    ),
    "a guard that protects the minimum": (
        lambda s, r: _evict(r).guards.add(guard="x", scope=CORE),
        "guard: reclaim evicts 2 of 2 pods of pod group old, though x keeps its minimum",
    ),
    "guards of a stale gang": (
        lambda s, r: _stale_gang(r, "preemptibility"),
        "guard: stalegangeviction evicts pod stretch-0: a broken gang, and guards are named",
    ),
}


def protect(*protections: tuple[str, decision_pb2.ProtectionScope], **fields: object) -> Break:
    """Add protections of `old` by guard `g`, each against a queue or pod group and with a scope."""

    def breaks(snapshot: Snapshot, response: Response) -> object:
        for against, scope in protections:
            stated = {"pod_group": "old", "guard": "g", "actions": ["reclaim"], **fields}
            is_one = any(group.uid == against for group in snapshot.pod_groups)
            whom = {"against_pod_group" if is_one else "against": against}
            response.protections.add(**stated, **whom, scope=scope)
        return response

    return breaks


def _one_of_two(breaks: Break) -> Break:
    """Evict only one pod of `old`, whose minimum is one, for a gang of one pod."""

    def both(snapshot: Snapshot, response: Response) -> object:
        set_fields(find(snapshot, "pod_groups", "old"), min_member=1)
        set_fields(find(snapshot, "pod_groups", "new"), min_member=1)
        for name in ("evict-old-1", "hold-new-1"):
            response.groups[1].decisions.remove(find_decision(response, name))
        set_fields(response.outcomes[0], reserved=1, pending=1)
        return breaks(snapshot, response)

    return both


BROKEN = "protection: reclaim evicts 2 of 2 pods of pod group old, but g protects it"
PROTECTIONS: Table = {
    "from everybody": (protect(("", ALL)), BROKEN),
    "its minimum": (protect(("", CORE)), BROKEN),
    "from a department": (protect(("org", ALL)), BROKEN),
    "from the queue that asks": (protect(("a", ALL)), BROKEN),
    "from the pod group that asks": (protect(("new", ALL)), BROKEN),
    "from the queue that asks, in spite of an exception": (protect(("org", NOTHING), ("a", ALL)), BROKEN),
    "from the pod group that asks, listed first": (protect(("new", ALL), ("", NOTHING)), BROKEN),
    "all of it, though only surplus is taken": (
        _one_of_two(protect(("", ALL))),
        "protection: reclaim evicts 1 of 2 pods of pod group old, but g protects it",
    ),
    "from an action that nobody knows": (
        protect(("", ALL), actions=["allocate"]),
        "protection: g of pod group old: protected from ['allocate']",
    ),
    "from nothing": (protect(("", ALL), actions=[]), "protection: g of pod group old: protected from []"),
    "of nobody": (
        protect(("", ALL), pod_group="x"),
        "protection: g of pod group x: it is not in the snapshot",
    ),
    "that has ended": (
        protect(("b", ALL), until={"seconds": sound_response.NOW_S}),
        "protection: g of pod group old: its end is past",
    ),
}
HARMLESS: dict[str, Break] = {
    "several guards": lambda s, r: _evict(r).guards.add(
        guard="minruntime", until={"seconds": sound_response.NOW_S}
    ),
    "a guard that keeps the minimum, and only surplus is taken": _one_of_two(
        lambda s, r: _evict(r).guards.add(guard="x", scope=CORE)
    ),
    "a stale gang without guards": lambda s, r: _stale_gang(r),
    "from others": protect(("b", ALL), ("small", ALL)),
    "from another action": protect(("", ALL), actions=["preempt", "consolidation", "requeue"]),
    "an exception for who asks": protect(("", ALL), ("new", NOTHING)),
    "an exception for a queue, listed first": protect(("a", NOTHING), ("org", CORE), ("", ALL)),
    "of somebody else": protect(("", ALL), pod_group="stretch", until={"seconds": sound_response.NOW_S + 1}),
    "its minimum, and only surplus is taken": _one_of_two(protect(("", CORE))),
    "its minimum, and it has none": lambda s, r: (
        set_fields(find(s, "pod_groups", "old"), min_member=0),
        protect(("", CORE))(s, r),
    ),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(CHECKS))
def test_eviction_without_its_guards_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(PROTECTIONS))
def test_eviction_of_a_reported_protected_pod_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_eviction_outside_of_a_protection_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
