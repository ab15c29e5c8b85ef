"""Repeated ids and steps, contradicting outcomes and exceeded queues are reported."""

import pytest
from tenure.v1 import decision_pb2, snapshot_pb2

from tests.verify import sound
from tests.verify.breaking import (
    Break,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    change,
    find,
    rows,
    step,
)


def test_a_sound_answer_has_no_violations() -> None:
    assert_harmless(lambda snapshot, response: None)


IDENTITY: Table = {
    "group id twice": (lambda s, r: change(r.groups[1], id="g1"), "identity: group id 'g1' appears 2 times"),
    "decision id twice": (
        lambda s, r: change(step(r, "hold-new-0"), id="hold-new-1"),
        "identity: decision id 'hold-new-1' appears 2 times",
    ),
    "empty id": (lambda s, r: change(r.groups[1], id=""), "identity: group id '' appears 1 times"),
    "bound twice": (
        lambda s, r: r.groups[0].decisions.append(sound.bind("small-0", "n2")),
        "identity: bind 'small-0' appears 2 times",
    ),
    "evicted twice": (
        lambda s, r: r.groups[1].decisions.append(sound.evict("old-0", "n1", "new")),
        "identity: evict 'old-0' appears 2 times",
    ),
    "bound and held": (
        lambda s, r: r.groups[0].decisions.append(sound.hold("small-0", "n2")),
        "identity: bind or hold 'small-0' appears 2 times",
    ),
    "empty group": (
        lambda s, r: r.groups.add(id="g3", action="allocate", beneficiary="small"),
        "identity: group g3 of allocate has no decisions",
    ),
    "unknown pod": (
        lambda s, r: change(step(r, "bind-small-0").bind, pod="nobody"),
        "identity: bind of pod 'nobody', which is not in the snapshot",
    ),
    "unknown node": (
        lambda s, r: change(step(r, "bind-small-0").bind, node="nowhere"),
        "names node 'nowhere', which is not in the snapshot",
    ),
    "bound although it runs": (
        lambda s, r: change(find(s, "pods", "small-0"), status=sound.RUNNING, node="n2"),
        "identity: pod small-0 is bound, but was not pending",
    ),
    "held although it runs": (
        lambda s, r: change(find(s, "pods", "new-0"), status=sound.RUNNING, node="n1"),
        "identity: pod new-0 is held, but was neither pending nor evicted",
    ),
    "evicted from elsewhere": (
        lambda s, r: change(step(r, "evict-old-0").evict, node="n2"),
        "identity: pod old-0 is evicted from n2, but does not run there",
    ),
}


def _semi(snapshot: Snapshot, min_member: int, quota: int) -> object:
    """`new` is semi-preemptible with this minimum, and its queue has this quota."""
    semi = snapshot_pb2.PREEMPTIBILITY_SEMI_PREEMPTIBLE
    change(find(snapshot, "pod_groups", "new"), preemptibility=semi, min_member=min_member)
    return change(find(snapshot, "queues", "a").gpu_milli, quota=quota)


QUEUES: Table = {
    "limit of the leaf": (
        lambda s, r: change(find(s, "queues", "a").gpu_milli, limit=4999),
        "queue: use of gpu in a is 5000, over its limit of 4999",
    ),
    "limit of the parent": (
        lambda s, r: change(find(s, "queues", "org").gpu_milli, limit=6000),
        "queue: use of gpu in org is 7000, over its limit of 6000",
    ),
    "limit of cpu": (
        lambda s, r: change(find(s, "queues", "a").cpu_milli, quota=-1, limit=2000),
        "queue: use of cpu in a is 3000, over its limit of 2000",
    ),
    "quota of non-preemptible pods": (
        lambda s, r: (
            change(find(s, "pod_groups", "new"), priority=100),
            change(find(s, "queues", "a").gpu_milli, quota=3000),
        ),
        "queue: non-preemptible use of gpu in a is 4000, over its quota of 3000",
    ),
    "quota of pods that opt out of reclaim": (
        lambda s, r: (
            find(s, "pod_groups", "new").opt_outs.append("reclaim"),
            change(find(s, "queues", "a").gpu_milli, quota=3000),
        ),
        "queue: non-preemptible use of gpu in a is 4000, over its quota of 3000",
    ),
    "quota of the minimum of semi-preemptible ones": (
        lambda s, r: _semi(s, min_member=2, quota=3000),
        "queue: non-preemptible use of gpu in a is 4000, over its quota of 3000",
    ),
}

OUTCOMES: Table = {
    "missing": (lambda s, r: r.outcomes.pop(), "outcome: pod group small has 0 outcomes, not 1"),
    "twice": (
        lambda s, r: r.outcomes.append(r.outcomes[0]),
        "outcome: pod group new has 2 outcomes, not 1",
    ),
    "needless": (
        lambda s, r: r.outcomes.append(sound.outcome("old", decision_pb2.OUTCOME_KIND_BOUND)),
        "outcome: pod group old has 1 outcomes, not 0",
    ),
    "wrong counts": (
        lambda s, r: change(r.outcomes[0], held=1),
        "outcome: pod group new says (bound, held, pending) (0, 1, 0), the decisions say (0, 2, 0)",
    ),
    "no reason": (
        lambda s, r: r.outcomes[0].reason.Clear(),
        "outcome: pod group new gives no reason",
    ),
}

HARMLESS: dict[str, Break] = {
    "a quota that preemptible pods exceed": lambda s, r: change(find(s, "queues", "a").gpu_milli, quota=0),
    "a quota that only surplus exceeds": lambda s, r: _semi(s, min_member=1, quota=2000),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(IDENTITY))
def test_every_step_is_unique_and_about_something_real(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(QUEUES))
def test_queues_keep_their_limits_and_quotas(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(OUTCOMES))
def test_every_pending_pod_group_has_one_outcome(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_preemptible_use_over_quota_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
