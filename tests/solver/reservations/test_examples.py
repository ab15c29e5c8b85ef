"""The worked examples of reservations (E17.1-E17.4)."""

from tenure.solver.model.decision import CycleResult
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.solver.reservations.play import Play, profile_with

FIRM = Preemptibility.NON_PREEMPTIBLE


def two_nodes(r1_limit: str | None) -> Play:
    """E17.1 at 10:00: r1 ends at 12:00, r2 at 11:00; big waits, and three small ones come later."""
    limited = {} if r1_limit is None else {"time_limit": r1_limit}
    builder = (
        ClusterBuilder()
        .node("n1", gpus=4)
        .node("n2", gpus=4)
        .queue("q")
        .running("r1", queue="q", gpus=4, node="n1", started_ago="1h", preemptibility=FIRM, **limited)
        .running("r2", queue="q", gpus=2, node="n2", started_ago="1h", preemptibility=FIRM, time_limit="2h")
        .pending("big", queue="q", gpus=4, count=2, preemptibility=FIRM)
        .pending("s1", queue="q", gpus=1, preemptibility=FIRM, time_limit="1h")
        .pending("s2", queue="q", gpus=1, preemptibility=FIRM, time_limit="3h")
        .pending("s3", queue="q", gpus=1, preemptibility=Preemptibility.PREEMPTIBLE)
    )
    return Play(builder.build(), profile_with(), absent=("s1", "s2", "s3"))


def evicted(play: Play, result: CycleResult) -> list[tuple[str, ReasonCode]]:
    """Pod groups that lose a pod, and why."""
    tasks, groups = play.cluster.tasks, play.cluster.pod_groups
    return [
        (groups[tasks[step.task].pod_group].facts.uid, group.reason)
        for group in result.groups
        for step in group.evictions
    ]


def backfills(play: Play) -> dict[str, tuple[str, ...]]:
    """Pod groups on reserved capacity, and the owners of the reservations."""
    found = {group.facts.uid: group.facts.victim.backfill_for for group in play.cluster.pod_groups}
    return {name: owners for name, owners in found.items() if owners}


def test_small_pod_groups_start_only_if_they_do_not_delay_the_big_one_e17_1() -> None:
    play = two_nodes("3h")
    play.cycle(0)
    assert (play.start("big"), play.nodes("big")) == ((120, "BOUNDED"), {"n1": 1, "n2": 1})
    play.arrive("s1", "s2", "s3")
    result = play.cycle(1)
    assert play.running() == ["r1", "r2", "s1", "s3"]
    assert backfills(play) == {"s3": ("big",)}
    reasons = {
        play.cluster.pod_groups[each.pod_group].facts.uid: each.reason.code.name for each in result.outcomes
    }
    assert reasons["s2"] == "RESERVED"
    assert play.start("big") == (120, "BOUNDED")
    assert evicted(play, play.cycle(60)) == []
    assert play.running() == ["r1", "s1", "s3"]
    assert evicted(play, play.cycle(120)) == [("s3", ReasonCode.BACKFILL_ENDED)]
    assert play.running() == []
    play.cycle(121)
    assert play.running() == ["big"]


def test_capacity_is_held_as_long_as_it_grows_and_lent_without_any_end_r17_9_e17_3() -> None:
    play = two_nodes(None)
    result = play.cycle(0)
    assert (play.start("big"), play.nodes("big")) == ((None, "UNKNOWN"), {"n1": 1, "n2": 1})
    assert play.minutes(result.next_wake_time) == 120
    play.arrive("s1", "s2", "s3")
    play.cycle(0)
    assert (play.running(), backfills(play)) == (["r1", "r2", "s1", "s3"], {"s3": ("big",)})
    result = play.cycle(60)
    assert (play.running(), play.start("big")) == (["r1", "s3"], (None, "UNKNOWN"))
    assert play.minutes(result.next_wake_time) == 180
    play.cycle(179)
    assert (play.running(), play.start("big")) == (["r1", "s3"], (None, "UNKNOWN"))
    play.cycle(180)
    assert play.start("big") is None
    result = play.cycle(181)
    assert play.running() == ["r1", "s2", "s3"]
    assert play.minutes(result.next_wake_time) == 300
    play.cycle(299)
    assert play.start("big") is None
    result = play.cycle(300)
    assert (play.start("big"), play.nodes("big")) == ((None, "UNKNOWN"), {"n1": 1, "n2": 1})
    assert play.minutes(result.next_wake_time) == 420
