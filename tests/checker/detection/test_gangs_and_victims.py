"""The checker reports partial gangs, protected victims and evictions without a beneficiary."""

import pytest
from tenure.v1 import snapshot_pb2

from tests.checker.detection import sound_response
from tests.checker.detection.mutations import (
    Break,
    Response,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    drop_decisions,
    find,
    find_decision,
    rows,
    set_fields,
)

ALLOCATE, RECLAIM = 0, 1


def _sub_groups(snapshot: Snapshot, top_minimum: int | None = None) -> object:
    """Add subgroups x and y to `new`, each with one pod and a minimum of one."""
    group = find(snapshot, "pod_groups", "new")
    for part, pod in (("X", "new-0"), ("y", "new-1")):
        group.sub_groups.add(name=part, min_member=1)
        set_fields(find(snapshot, "pods", pod), sub_group=part.lower())
    if top_minimum is not None:
        group.min_sub_group = top_minimum
    return group


def _inner_sub_group(snapshot: Snapshot, pod_group: str, parts: str, minimum: int = 2) -> None:
    """One of the subgroups x and `inner` is enough; `inner` has a and b, and needs so many of them.

    `parts` has the subgroup of each pod.
    """
    group = find(snapshot, "pod_groups", pod_group)
    group.sub_groups.add(name="x", min_member=1)
    group.sub_groups.add(name="inner", min_sub_group=minimum)
    for name in "ab":
        group.sub_groups.add(name=name, parent="inner", min_member=1)
    group.min_sub_group = 1
    for pod in snapshot.pods:
        if pod.pod_group == pod_group:
            pod.sub_group = parts[int(pod.uid[-1])]


def _add_old_2(snapshot: Snapshot) -> None:
    """A third pod of `old`, which stays."""
    pod = snapshot.pods.add()
    pod.CopyFrom(find(snapshot, "pods", "stretch-0"))
    pod.uid = pod.name = "old-2"
    pod.pod_group = "old"


def _drop_new_1(response: Response) -> object:
    drop_decisions(response, "hold-new-1")
    return set_fields(response.outcomes[0], reserved=1, pending=1)


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
    "an optional part is placed in half": (
        lambda s, r: _inner_sub_group(s, "new", "xa"),
        "gang: part inner of pod group new is placed without its minimum: 1 of a, 1 of x are active",
    ),
    "an optional part is cut in half": (
        lambda s, r: (_add_old_2(s), _inner_sub_group(s, "old", "abx"), drop_decisions(r, "evict-old-1")),
        "gang: part inner of pod group old is cut below its minimum: 1 of b, 1 of x are left",
    ),
    "a victim is cut in half": (
        lambda s, r: drop_decisions(r, "evict-old-1"),
        "gang: pod group old is cut below its minimum: 1 of default are left",
    ),
}


def _preemptibility_field(**fields: object) -> Break:
    """Set fields of the victim."""
    return lambda s, r: set_fields(find(s, "pod_groups", "old"), **fields)


def _preemptibility_annotation(text: str, **fields: object) -> Break:
    """Set the preemptibility annotation of the victim."""

    def breaks(s: Snapshot, r: Response) -> object:
        group = set_fields(find(s, "pod_groups", "old"), **fields)
        group.annotations["kai.scheduler/preemptibility"] = text
        return group

    return breaks


NON_PREEMPTIBLE = snapshot_pb2.PREEMPTIBILITY_NON_PREEMPTIBLE
SEMI = snapshot_pb2.PREEMPTIBILITY_SEMI_PREEMPTIBLE
LOSS = "victim: reclaim evicts 2 of 2 pods of pod group old"

VICTIMS: Table = {
    "explicitly non-preemptible": (
        _preemptibility_field(preemptibility=NON_PREEMPTIBLE),
        f"{LOSS}, which is not preemptible",
    ),
    "non-preemptible by priority": (_preemptibility_field(priority=100), f"{LOSS}, which is not preemptible"),
    "non-preemptible by its annotation": (
        _preemptibility_annotation("NonPreemptible"),
        f"{LOSS}, which is not preemptible",
    ),
    "an annotation that nobody knows": (
        _preemptibility_annotation("maybe"),
        f"{LOSS}, which is not preemptible",
    ),
    "the minimum of a semi-preemptible one": (
        _preemptibility_field(preemptibility=SEMI),
        f"{LOSS}, the minimum of which is not preemptible",
    ),
    "the minimum of one that is so by its annotation": (
        _preemptibility_annotation(" SEMI-Preemptible"),
        f"{LOSS}, the minimum of which is not preemptible",
    ),
    "opted out": (
        lambda s, r: find(s, "pod_groups", "old").opt_out_actions.append("reclaim"),
        f"{LOSS}, which opts out of that",
    ),
    "reclaim within one queue": (_preemptibility_field(queue="a"), f"{LOSS}, which is of its own queue a"),
    "preempt across queues": (
        lambda s, r: set_fields(r.groups[RECLAIM], action="preempt"),
        "victim: preempt evicts 2 of 2 pods of pod group old, which is of another queue, b",
    ),
    "preempt of equal priority": (
        lambda s, r: (
            set_fields(r.groups[RECLAIM], action="preempt"),
            set_fields(find(s, "pod_groups", "old"), queue="a", priority=70),
        ),
        "victim: preempt evicts 2 of 2 pods of pod group old, of priority 70, for new of priority 70",
    ),
    "requeue of equal priority": (
        lambda s, r: (
            set_fields(r.groups[RECLAIM], action="requeue"),
            set_fields(find(s, "pod_groups", "old"), priority=70),
        ),
        "victim: requeue evicts 2 of 2 pods of pod group old, of priority 70, for new of priority 70",
    ),
}

BENEFICIARIES: Table = {
    "evictions for nobody": (
        lambda s, r: (
            drop_decisions(r, "hold-new-0", "hold-new-1"),
            set_fields(r.outcomes[0], reserved=0, pending=2),
        ),
        "beneficiary: group g2 of reclaim: 2 pods are evicted, but new gets no room",
    ),
    "evicted for another": (
        lambda s, r: set_fields(find_decision(r, "evict-old-0").evict, preemptor="small"),
        "pod old-0 is evicted for small, not for new",
    ),
    "moves without a hold": (
        lambda s, r: set_fields(find_decision(r, "evict-old-0").evict, relocating=True),
        "pod old-0 is evicted with moves=True, but its hold says otherwise",
    ),
    "consolidation that kills": (
        lambda s, r: set_fields(r.groups[RECLAIM], action="consolidation"),
        "group g2 of consolidation: pod old-0 is evicted and not moved",
    ),
    "room for a stranger": (
        lambda s, r: r.groups[RECLAIM].decisions.append(r.groups[ALLOCATE].decisions.pop(0)),
        "pod small-0 is placed, but belongs to another pod group",
    ),
}

HARMLESS: dict[str, Break] = {
    "a complete optional part": lambda s, r: _inner_sub_group(s, "new", "xa", minimum=1),
    "an optional part is evicted": lambda s, r: (_add_old_2(s), _inner_sub_group(s, "old", "abx")),
    "one of two optional parts": lambda s, r: (_sub_groups(s, top_minimum=1), _drop_new_1(r)),
    "a stale gang that is not preemptible": lambda s, r: (
        r.groups.add(
            id="g3",
            action="stalegangeviction",
            beneficiary="stretch",
            decisions=[sound_response.evict(f"stretch-{number}", "n2", "", guards=()) for number in range(2)],
        ),
        set_fields(find(s, "pod_groups", "stretch"), priority=100),
    ),
    "one that is preemptible by its annotation": _preemptibility_annotation("Preemptible", priority=125),
    "one whose field outweighs its annotation": _preemptibility_annotation(
        "NonPreemptible", preemptibility=snapshot_pb2.PREEMPTIBILITY_PREEMPTIBLE
    ),
    "an empty annotation says nothing": _preemptibility_annotation(" "),
    "the surplus of a semi-preemptible one": _preemptibility_field(preemptibility=SEMI, min_member=0),
    "one that opts out of something else": lambda s, r: find(s, "pod_groups", "old").opt_out_actions.extend(
        ["preempt", "consolidation", "requeue"]
    ),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(GANGS))
def test_partial_gang_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(VICTIMS))
def test_forbidden_victim_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(BENEFICIARIES))
def test_eviction_without_effective_beneficiary_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_a_permitted_eviction_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
