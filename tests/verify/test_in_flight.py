"""Groups in flight without a verdict, broken promises, and what is asked for twice are reported."""

from collections.abc import Callable

import pytest
from tenure.v1 import decision_pb2 as pb

from tests.verify import sound, verify
from tests.verify.breaking import Break, Response, Snapshot, Table, change, drop, find, rows

KEPT, CANCELLED = pb.IN_FLIGHT_RESULT_KEPT, pb.IN_FLIGHT_RESULT_CANCELLED


def story() -> tuple[Snapshot, Response]:
    """The group of the sound answer that reclaims, one cycle later: accepted, and nothing of it seen done."""
    snapshot, response = sound.snapshot(), sound.response()
    group = snapshot.in_flight_groups.add(id="g2", action="reclaim", beneficiary="new")
    group.expire_time.seconds = sound.NOW_S + 60
    status = response.in_flight_groups.add(id="g2", result=KEPT)
    status.reason.code, status.reason.message = pb.REASON_CODE_VICTIMS_EVICTED, "because"
    for i in range(2):
        group.evictions.add(pod=f"old-{i}", node="n1", pod_group="old")
        group.holds.add(pod=f"new-{i}", node="n1", pod_group="new")
        status.holds.add(pod=f"new-{i}", node="n1", pod_group="new")
    del response.groups[1]
    return snapshot, response


def found(breaks: Break) -> list[str]:
    snapshot, response = story()
    breaks(snapshot, response)
    return verify(snapshot, response)


def redeemed(snapshot: Snapshot, response: Response) -> None:
    """The victims are gone, and the pods of `new` are bound."""
    gone = [pod for pod in snapshot.pods if pod.pod_group == "old"]
    for pod in gone:
        snapshot.pods.remove(pod)
    group = response.groups.add(id="r", action="redeem", beneficiary="new", in_flight_group="g2")
    group.decisions.extend([sound.bind("new-0", "n1"), sound.bind("new-1", "n1")])
    group.decisions.append(sound.patch("new", "last_start_time"))
    status = response.in_flight_groups[0]
    status.result = pb.IN_FLIGHT_RESULT_REDEEMED
    del status.holds[:]
    change(response.outcomes[0], kind=pb.OUTCOME_KIND_BOUND, held=0, bound=2)


def and_then(breaks: Break) -> Break:
    """What is done to the story that goes on."""

    def both(snapshot: Snapshot, response: Response) -> None:
        redeemed(snapshot, response)
        breaks(snapshot, response)

    return both


@pytest.mark.parametrize("goes_on", [lambda s, r: None, redeemed])
def test_a_sound_answer_has_no_violations(goes_on: Callable[[Snapshot, Response], object]) -> None:
    assert found(goes_on) == []


BROKEN: Table = {
    "no verdict": (lambda s, r: r.in_flight_groups.pop(), "in flight: told of [], not of ['g2']"),
    "kept beyond its time": (
        lambda s, r: change(s.in_flight_groups[0].expire_time, seconds=sound.NOW_S),
        "group g2: its time is over",
    ),
    "no reason": (lambda s, r: r.in_flight_groups[0].ClearField("reason"), "group g2: it is given no reason"),
    "room kept for a group that is dropped": (
        lambda s, r: change(r.in_flight_groups[0], result=CANCELLED),
        "group g2: room is kept for a group that is not kept",
    ),
    "called finished": (
        lambda s, r: change(r.in_flight_groups[0], result=pb.IN_FLIGHT_RESULT_FINISHED),
        "group g2: it is called finished, and is not",
    ),
    "called redeemed": (
        lambda s, r: change(r.in_flight_groups[0], result=pb.IN_FLIGHT_RESULT_REDEEMED),
        "group g2: it is called redeemed, and binds nobody",
    ),
    "another node": (
        lambda s, r: change(r.in_flight_groups[0].holds[0], node="n2"),
        "pod new-0 was promised n1 and is given n2",
    ),
    "another pod": (
        lambda s, r: change(r.in_flight_groups[0].holds[0], pod="small-0"),
        "pod small-0 is given room on n1, which nobody promised",
    ),
    "evicted twice": (
        lambda s, r: r.groups[0].decisions.append(sound.evict("old-0", "n1", "small")),
        "identity: pod old-0 is evicted from n1, but does not run there",
    ),
    "more kept than there is": (
        lambda s, r: change(find(s, "nodes", "n1").allocatable, gpu_milli=3000),
        "capacity: node n1 after the evictions",
    ),
    "evicted while it is being bound": (
        lambda s, r: (
            s.in_flight_groups[0].bindings.add(pod="small-0", node="n2"),
            drop(r, "bind-small-0", "patch-small"),
            r.groups[0].decisions.append(sound.evict("small-0", "n2", "new")),
        ),
        "in flight: pod small-0 is evicted while its binding is under way",
    ),
    "redeemed and dropped": (
        and_then(lambda s, r: change(r.in_flight_groups[0], result=CANCELLED)),
        "group g2: it is dropped, and its promises are redeemed",
    ),
    "redeems a group that nobody sent": (
        and_then(lambda s, r: change(r.groups[1], in_flight_group="g9")),
        "in flight: group r redeems g9, which is not in the snapshot",
    ),
    "redeems by another action": (
        and_then(lambda s, r: change(r.groups[1], action="allocate")),
        "in flight: group r of allocate redeems 'g2'",
    ),
    "redeems and evicts": (
        and_then(lambda s, r: r.groups[1].decisions.append(sound.evict("stretch-0", "n2", "new"))),
        "in flight: group r does more than to redeem a promise",
    ),
    "redeems half of a gang": (
        and_then(lambda s, r: drop(r, "bind-new-1")),
        "gang: pod group new is placed without its minimum",
    ),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(BROKEN))
def test_what_breaks_a_promise_is_reported(breaks: Break, violation: str) -> None:
    lines = found(breaks)
    assert any(violation in line for line in lines), lines
