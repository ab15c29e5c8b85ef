"""Pod groups cause no evictions before their preemption delay has elapsed."""

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.registry import default_profile
from tenure.solver.testing import NOW, ClusterBuilder, evictions
from tenure.solver.testing.options import JobOptions
from tenure.terms.durations import parse_duration

ROWS: dict[str, tuple[JobOptions, bool]] = {
    "no delay": ({"created_ago": "1m"}, True),
    "R9.2 inside the delay": ({"created_ago": "9m", "preemption_delay": "10m"}, False),
    "R9.2 at its end": ({"created_ago": "10m", "preemption_delay": "10m"}, True),
    "R9.2 an eviction starts it again": (
        {"created_ago": "1h", "evicted_ago": "9m", "preemption_delay": "10m"},
        False,
    ),
    "R9.2 the later of both counts": (
        {"created_ago": "9m", "evicted_ago": "1h", "preemption_delay": "10m"},
        False,
    ),
    "R9.2 over since the last eviction": (
        {"created_ago": "1h", "evicted_ago": "10m", "preemption_delay": "10m"},
        True,
    ),
}


def cluster(options: JobOptions) -> ClusterBuilder:
    """A full node, and a pod group of higher priority in the same queue."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q").running("low", queue="q", gpus=1, node="n")
    return builder.pending("high", **{"queue": "q", "gpus": 1, "priority": 75, **options})


@pytest.mark.parametrize(("options", "expected"), ROWS.values(), ids=ROWS)
def test_pod_group_within_its_preemption_delay_evicts_no_pods(options: JobOptions, expected: bool) -> None:
    decision = answer(cluster(options).build(), default_profile())
    assert bool(list(evictions(decision))) is expected
    assert (decision.outcomes[0].kind is OutcomeKind.DELAYED) is not expected


def test_next_wake_time_is_the_end_of_the_preemption_delay_r9_2() -> None:
    decision = answer(cluster({"created_ago": "4m", "preemption_delay": "10m"}).build(), default_profile())
    assert decision.next_wake_time == NOW + parse_duration("6m")


def test_free_capacity_is_allocated_without_delay_r9_3() -> None:
    options: JobOptions = {"created_ago": "1m", "preemption_delay": "10m"}
    decision = answer(cluster(options).node("free", gpus=1).build(), default_profile())
    assert [outcome.kind for outcome in decision.outcomes] == [OutcomeKind.BOUND]
