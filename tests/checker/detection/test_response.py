"""The checker reports repeated ids and decisions, contradictory outcomes and exceeded queue limits."""

import pytest
from tenure.v1 import decision_pb2, snapshot_pb2

from tests.checker.detection import sound_response
from tests.checker.detection.mutations import (
    Break,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    find,
    find_decision,
    rows,
    set_fields,
)


def test_sound_response_has_no_violations() -> None:
    assert_harmless(lambda snapshot, response: None)


IDENTITY: Table = {
    "group id twice": (
        lambda s, r: set_fields(r.groups[1], id="g1"),
        "identity: group id 'g1' appears 2 times",
    ),
    "decision id twice": (
        lambda s, r: set_fields(find_decision(r, "hold-new-0"), id="hold-new-1"),
        "identity: decision id 'hold-new-1' appears 2 times",
    ),
    "empty id": (lambda s, r: set_fields(r.groups[1], id=""), "identity: group id '' appears 1 times"),
    "bound twice": (
        lambda s, r: r.groups[0].decisions.append(sound_response.bind("small-0", "n2")),
        "identity: bind 'small-0' appears 2 times",
    ),
    "evicted twice": (
        lambda s, r: r.groups[1].decisions.append(sound_response.evict("old-0", "n1", "new")),
        "identity: evict 'old-0' appears 2 times",
    ),
    "bound and held": (
        lambda s, r: r.groups[0].decisions.append(sound_response.reserve("small-0", "n2")),
        "identity: bind or hold 'small-0' appears 2 times",
    ),
    "empty group": (
        lambda s, r: r.groups.add(id="g3", action="allocate", beneficiary="small"),
        "identity: group g3 of allocate has no decisions",
    ),
    "unknown pod": (
        lambda s, r: set_fields(find_decision(r, "bind-small-0").bind, pod="nobody"),
        "identity: bind of pod 'nobody', which is not in the snapshot",
    ),
    "unknown node": (
        lambda s, r: set_fields(find_decision(r, "bind-small-0").bind, node="nowhere"),
        "names node 'nowhere', which is not in the snapshot",
    ),
    "bound although it runs": (
        lambda s, r: set_fields(find(s, "pods", "small-0"), status=sound_response.RUNNING, node="n2"),
        "identity: pod small-0 is bound, but was not pending",
    ),
    "held although it runs": (
        lambda s, r: set_fields(find(s, "pods", "new-0"), status=sound_response.RUNNING, node="n1"),
        "identity: pod new-0 is held, but was neither pending nor evicted",
    ),
    "evicted from elsewhere": (
        lambda s, r: set_fields(find_decision(r, "evict-old-0").evict, node="n2"),
        "identity: pod old-0 is evicted from n2, but does not run there",
    ),
}


def _semi(snapshot: Snapshot, min_member: int, quota: int) -> object:
    """Make `new` semi-preemptible with this minimum, and set the quota of its queue."""
    semi = snapshot_pb2.PREEMPTIBILITY_SEMI_PREEMPTIBLE
    set_fields(find(snapshot, "pod_groups", "new"), preemptibility=semi, min_member=min_member)
    return set_fields(find(snapshot, "queues", "a").gpu_milli, quota=quota)


QUEUES: Table = {
    "limit of the leaf": (
        lambda s, r: set_fields(find(s, "queues", "a").gpu_milli, limit=4999),
        "queue: use of gpu in a is 5000, over its limit of 4999",
    ),
    "limit of the parent": (
        lambda s, r: set_fields(find(s, "queues", "org").gpu_milli, limit=6000),
        "queue: use of gpu in org is 7000, over its limit of 6000",
    ),
    "limit of cpu": (
        lambda s, r: set_fields(find(s, "queues", "a").cpu_milli, quota=-1, limit=2000),
        "queue: use of cpu in a is 3000, over its limit of 2000",
    ),
    "quota of non-preemptible pods": (
        lambda s, r: (
            set_fields(find(s, "pod_groups", "new"), priority=100),
            set_fields(find(s, "queues", "a").gpu_milli, quota=3000),
        ),
        "queue: non-preemptible use of gpu in a is 4000, over its quota of 3000",
    ),
    "quota of pods that opt out of reclaim": (
        lambda s, r: (
            find(s, "pod_groups", "new").opt_out_actions.append("reclaim"),
            set_fields(find(s, "queues", "a").gpu_milli, quota=3000),
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
        lambda s, r: r.outcomes.append(sound_response.outcome("old", decision_pb2.OUTCOME_KIND_BOUND)),
        "outcome: pod group old has 1 outcomes, not 0",
    ),
    "wrong counts": (
        lambda s, r: set_fields(r.outcomes[0], reserved=1),
        "outcome: pod group new says (bound, held, pending) (0, 1, 0), the decisions say (0, 2, 0)",
    ),
    "no reason": (
        lambda s, r: r.outcomes[0].reason.Clear(),
        "outcome: pod group new gives no reason",
    ),
}

HARMLESS: dict[str, Break] = {
    "a quota that preemptible pods exceed": lambda s, r: set_fields(
        find(s, "queues", "a").gpu_milli, quota=0
    ),
    "a quota that only surplus exceeds": lambda s, r: _semi(s, min_member=1, quota=2000),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(IDENTITY))
def test_every_decision_is_unique_and_refers_to_existing_objects(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(QUEUES))
def test_queues_stay_within_limits_and_quotas(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize(("breaks", "violation"), rows(OUTCOMES))
def test_every_pending_pod_group_has_one_outcome(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_preemptible_usage_over_quota_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
