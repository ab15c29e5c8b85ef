"""What metrics tell of reservations (semantics R17.6, R17.7, R17.13)."""

from dataclasses import replace

from tenure.codec.decisions.planned_starts import NO_PLANNED_STARTS, PlannedStartCounts, count_planned_starts
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.caller_state import Certainty, StartDelay
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder

from tests.solver.reservations.play import MINUTE, Play, profile_with


class CountedPlay(Play):
    """A play that counts its cycles."""

    def count(self, minutes: float) -> PlannedStartCounts:
        before: Cluster = replace(self.cluster, now=self._begin + round(minutes * MINUTE))
        result: CycleResult = self.cycle(minutes, ends_by_limits=False)
        return count_planned_starts(before, result)


def test_plans_delays_backfills_and_starts_are_counted() -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q")
    builder.running("old", queue="q", gpus=2, node="n", started_ago="1h", time_limit="2h")
    builder.pending("big", queue="q", gpus=4).pending("soft", queue="q", gpus=1)
    builder.pending("firm", queue="q", gpus=1, preemptibility=Preemptibility.NON_PREEMPTIBLE)
    play = CountedPlay(builder.build(), profile_with(), absent=["soft", "firm"])
    first = play.count(0)
    assert (first.by_certainty, first.idle) == ({Certainty.BOUNDED: 1}, 2_000)
    play.arrive("soft", "firm")
    lent = play.count(1)
    assert (lent.lent, lent.idle) == (1, 1_000)
    assert play.count(60).delays == {StartDelay.OVERRUN: 1}
    play.end("old")
    assert play.count(61).ended == 1
    last = play.count(61.5)
    assert (last.slips, last.by_certainty, last.idle) == ((3 * MINUTE // 2,), {}, 0)


def test_free_capacity_that_two_have_reserved_counts_once() -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q")
    builder.running("old", queue="q", gpus=1, node="n", started_ago="1h", time_limit="2h")
    builder.pending("first", queue="q", gpus=4, time_limit="1h").pending("second", queue="q", gpus=4)
    counts = CountedPlay(builder.build(), profile_with(maxFraction="1", perQueue="2"), absent=[]).count(0)
    assert (sum(counts.by_certainty.values()), counts.idle) == (2, 3_000)


def test_profile_without_reservations_counts_nothing() -> None:
    cluster = ClusterBuilder().node("n", gpus=1).queue("q").pending("p", queue="q", gpus=1).build()
    assert count_planned_starts(cluster, answer(cluster, default_profile())) is NO_PLANNED_STARTS
