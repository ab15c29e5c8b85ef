"""Broken gangs, victims that nobody may touch, and evictions for nobody are reported."""

import pytest
from tenure.v1 import snapshot_pb2

from tests.verify import sound
from tests.verify.breaking import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    change,
    drop,
    find,
    rows,
    step,
)

ALLOCATE, RECLAIM = 0, 1


def _sub_groups(snapshot: Snapshot, top_minimum: int | None = None) -> object:
    """Gives `new` two parts, x and y, each with one of its pods and a minimum of one."""
    group = find(snapshot, "pod_groups", "new")
    for part, pod in (("X", "new-0"), ("y", "new-1")):
        group.sub_groups.add(name=part, min_member=1)
        change(find(snapshot, "pods", pod), sub_group=part.lower())
    if top_minimum is not None:
        group.min_sub_group = top_minimum
    return group


def _drop_new_1(response: Response) -> object:
    drop(response, "hold-new-1")
    return change(response.outcomes[0], held=1, pending=1)


GANGS: Table = {
    "half a gang": (lambda s, r: _drop_new_1(r), "gang: part default of pod group new has 1 pods of 2"),
    "a part is missing": (
        lambda s, r: (_sub_groups(s), _drop_new_1(r)),
        "gang: pod group new is placed without its minimum: 1 of x are active",
    ),
    "fewer parts than the minimum": (
        lambda s, r: (_sub_groups(s, top_minimum=2), _drop_new_1(r)),
        "gang: pod group new is placed without its minimum",
    ),
    "a victim is cut in half": (
        lambda s, r: drop(r, "evict-old-1"),
        "gang: pod group old is cut below its minimum: 1 of default are left",
    ),
}

VICTIMS: Table = {
    "explicitly non-preemptible": (
        lambda s, r: change(
            find(s, "pod_groups", "old"), preemptibility=snapshot_pb2.PREEMPTIBILITY_NON_PREEMPTIBLE
        ),
        "victim: reclaim evicts pod old-0 of non-preemptible pod group old",
    ),
    "non-preemptible by priority": (
        lambda s, r: change(find(s, "pod_groups", "old"), priority=100),
        "victim: reclaim evicts pod old-0 of non-preemptible pod group old",
    ),
    "reclaim within one queue": (
        lambda s, r: change(find(s, "pod_groups", "old"), queue="a"),
        "victim: reclaim evicts pod old-0 of its own queue a",
    ),
    "preempt across queues": (
        lambda s, r: change(r.groups[RECLAIM], action="preempt"),
        "victim: preempt evicts pod old-0 of another queue, b",
    ),
    "preempt of equal priority": (
        lambda s, r: (
            change(r.groups[RECLAIM], action="preempt"),
            change(find(s, "pod_groups", "old"), queue="a", priority=70),
        ),
        "victim: preempt evicts pod old-0 of priority 70 for new of priority 70",
    ),
}

BENEFICIARIES: Table = {
    "evictions for nobody": (
        lambda s, r: (drop(r, "hold-new-0", "hold-new-1"), change(r.outcomes[0], held=0, pending=2)),
        "beneficiary: group g2 of reclaim: 2 pods are evicted, but new gets no room",
    ),
    "evicted for another": (
        lambda s, r: change(step(r, "evict-old-0").evict, beneficiary="small"),
        "pod old-0 is evicted for small, not for new",
    ),
    "moves without a hold": (
        lambda s, r: change(step(r, "evict-old-0").evict, moves=True),
        "pod old-0 is evicted with moves=True, but its hold says otherwise",
    ),
    "consolidation that kills": (
        lambda s, r: change(r.groups[RECLAIM], action="consolidation"),
        "group g2 of consolidation: pod old-0 is evicted and not moved",
    ),
    "room for a stranger": (
        lambda s, r: r.groups[RECLAIM].decisions.append(r.groups[ALLOCATE].decisions.pop(0)),
        "pod small-0 is placed, but belongs to another pod group",
    ),
}

HARMLESS: dict[str, Break] = {
    "one of two optional parts": lambda s, r: (_sub_groups(s, top_minimum=1), _drop_new_1(r)),
    "a stale gang that is not preemptible": lambda s, r: (
        r.groups.add(
            id="g3",
            action="stalegangeviction",
            beneficiary="stretch",
            decisions=[sound.evict("stretch-0", "n2", ""), sound.evict("stretch-1", "n2", "")],
        ),
        change(find(s, "pod_groups", "stretch"), priority=100),
    ),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(GANGS))
def test_gangs_are_whole_or_absent(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(VICTIMS))
def test_only_those_who_may_be_evicted_are(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(BENEFICIARIES))
def test_every_eviction_is_for_somebody_who_gets_the_room(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_a_permitted_eviction_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
