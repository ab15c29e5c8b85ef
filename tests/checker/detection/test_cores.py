"""The quota check counts only the core of a semi-preemptible pod group."""

import pytest
from tenure.v1 import snapshot_pb2

from tests.checker.detection.mutations import (
    Break,
    Response,
    Snapshot,
    assert_harmless,
    assert_reported,
    find,
    set_fields,
)

SEMI = snapshot_pb2.PREEMPTIBILITY_SEMI_PREEMPTIBLE
Parts = dict[str, int]
"""Minimum by subgroup; subgroups of the second level are named `teams/NAME`."""


def semi(parts: Parts, required: int | None, of_teams: int | None = None, first_gpus: int = 2) -> Break:
    """Add subgroups to `new`; its two pods, of two GPUs each, are in the last two subgroups.

    The first pod can have another size. Queue `a` has a quota of two GPUs.
    """

    def breaks(snapshot: Snapshot, response: Response) -> None:
        group = set_fields(find(snapshot, "pod_groups", "new"), preemptibility=SEMI)
        group.ClearField("min_member")
        if required is not None:
            group.min_sub_group = required
        for name, minimum in parts.items():
            parent, _, leaf = name.rpartition("/")
            group.sub_groups.add(name=leaf, parent=parent, min_member=minimum)
        if of_teams is not None:
            group.sub_groups.add(name="teams", min_sub_group=of_teams)
        leaves = [name.rpartition("/")[2] for name in parts][-2:]
        for pod, leaf in zip(("new-0", "new-1"), leaves, strict=True):
            set_fields(find(snapshot, "pods", pod), sub_group=leaf)
        set_fields(find(snapshot, "queues", "a").gpu_milli, quota=2000)
        shape = snapshot.shapes.add()
        shape.CopyFrom(find(snapshot, "shapes", "pair"))
        set_fields(shape, id="first").gpu.devices = first_gpus
        set_fields(find(snapshot, "pods", "new-0"), shape="first")

    return breaks


WITHIN = {
    "one of two is required": semi({"x": 1, "y": 1}, 1),
    "the first is required, the other bigger": semi({"x": 1, "y": 1}, 1, first_gpus=1),
    "none is required": semi({"x": 1, "y": 1}, 0),
    "the first needs no pod": semi({"x": 0, "y": 1}, None),
    "one of two teams is required": semi({"teams/x": 1, "teams/y": 1}, None, of_teams=1),
}
OVER = {
    "both are required": (semi({"x": 1, "y": 1}, None), 4000),
    "the first of two is too big": (semi({"x": 1, "y": 1}, 1, first_gpus=3), 3000),
    "both teams are required": (semi({"teams/x": 1, "teams/y": 1}, None, of_teams=2), 4000),
}


@pytest.mark.parametrize("breaks", WITHIN.values(), ids=WITHIN)
def test_optional_sub_groups_can_exceed_the_quota(breaks: Break) -> None:
    assert_harmless(breaks)


@pytest.mark.parametrize(("breaks", "amount"), OVER.values(), ids=OVER)
def test_required_sub_groups_over_quota_are_reported(breaks: Break, amount: int) -> None:
    assert_reported(breaks, f"queue: non-preemptible use of gpu in a is {amount}, over its quota of 2000")


def _led_by(leader: str) -> Break:
    """`new` needs one of its two pods, which request one and two GPUs; queue `a` has a quota of one GPU."""

    def breaks(snapshot: Snapshot, response: Response) -> None:
        semi({"x": 1, "y": 1}, 1, first_gpus=1)(snapshot, response)
        group = set_fields(find(snapshot, "pod_groups", "new"), min_member=1)
        group.ClearField("sub_groups")
        group.ClearField("min_sub_group")
        set_fields(find(snapshot, "queues", "a").gpu_milli, quota=1000)
        for pod in ("new-0", "new-1"):
            set_fields(find(snapshot, "pods", pod), sub_group="", leader=pod == leader)

    return breaks


def test_the_leader_is_the_minimum() -> None:
    assert_harmless(_led_by("new-0"))
    over = "queue: non-preemptible use of gpu in a is 2000, over its quota of 1000"
    assert_reported(_led_by("new-1"), over)


def test_earlier_quota_excess_is_not_reported() -> None:
    """The minimum of `stretch` exceeds the quota of queue `b`, and the response adds nothing to it."""

    def breaks(snapshot: Snapshot, response: Response) -> None:
        set_fields(find(snapshot, "pod_groups", "stretch"), preemptibility=SEMI, min_member=2)
        set_fields(find(snapshot, "queues", "b").gpu_milli, quota=1000)

    assert_harmless(breaks)
