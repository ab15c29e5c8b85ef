"""R17.23: sentences about when pending pod groups start: for each audience, never more exact than played."""

import pytest
from tenure.server.explain.when_starts import when_starts
from tenure.solver.model.fate import HoldReason
from tenure.solver.play import played_cluster
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.cancellation import never
from tenure.v1 import explain_pb2 as pb

from tests.server.explain.pending_cases import index

UNLESS = "if nothing more important arrives."


def waiting(**run: str) -> ClusterBuilder:
    """`r` of queue `other` fills the node since an hour ago; `p` waits behind `ahead`, which is smaller."""
    made = ClusterBuilder().queue("q", quota=4).queue("other", quota=0).node("n", gpus=4)
    made.running("r", queue="other", node="n", gpus=4, priority=100, started_ago="1h", **run)  # type: ignore[arg-type]
    return made.pending("ahead", queue="q", gpus=1, priority=60).pending("p", queue="q", gpus=2, priority=50)


def told(made: ClusterBuilder, uid: str = "p") -> tuple[str, str]:
    """For tenants and for operators."""
    cluster = made.build()
    result = when_starts(cluster, default_profile(), BUILT_IN, [index(cluster, uid)], never)
    assert result.text.public.replace(" (queue q)", "").count("another workload") <= 1
    return result.text.tenant, result.text.operator


PLACE = "Pod group p (queue q) is second in its queue, after pod groups that ask for 1 GPU."
TODAY = "2025-06-15"
"""Now is 15:06:40."""


def test_a_start_is_when_enough_subgroups_have_their_minimum() -> None:
    made = ClusterBuilder().queue("q", quota=4).queue("other", quota=0).node("n", gpus=4)
    made.running("r", queue="other", node="n", gpus=2, priority=100, started_ago="1h", time_limit="2h")
    made.running("s", queue="other", node="n", gpus=2, priority=100, started_ago="1h", time_limit="3h")
    made.pod_group("p", queue="q", min_sub_groups=1)
    for name in ("one", "two"):
        made.sub_group("p", name, min_member=1).pending("p", gpus=2, sub_group=name)
    assert f"It starts by {TODAY} 16:06:40 UTC" in told(made)[0]


@pytest.mark.parametrize(
    ("run", "tenant", "operator"),
    [
        pytest.param(
            {"time_limit": "3h"},
            f"It starts by {TODAY} 17:06:40 UTC, {UNLESS} "
            f"It waits for the end of another workload at {TODAY} 17:06:40 UTC.",
            "It waits for the end of pod group r (queue other)",
            id="bounded",
        ),
        pytest.param(
            {"expected_runtime": "122m"},
            f"It starts at about {TODAY} 16:10:00 UTC, {UNLESS}",
            "It waits for the end of pod group r (queue other)",
            id="expected: rounded up",
        ),
        pytest.param(
            {"expected_runtime": "2h", "time_limit": "3h"},
            f"It starts at about {TODAY} 16:10:00 UTC, by {TODAY} 17:06:40 UTC at the latest, {UNLESS}",
            "pod group r",
            id="expected and bounded",
        ),
        pytest.param(
            {},
            "It does not start by known ends of others. 1 pod group that then run has neither an expected "
            "runtime nor a time limit.",
            "Among them: pod group r (queue other).",
            id="unknown",
        ),
    ],
)
def test_sentence_tells_what_was_played(run: dict[str, str], tenant: str, operator: str) -> None:
    for_tenant, for_operator = told(waiting(**run))
    assert for_tenant.startswith(f"{PLACE} {tenant}")
    assert "pod group r" not in for_tenant
    assert operator in for_operator


def test_pod_groups_right_before_it_are_named_to_operators() -> None:
    made = waiting(time_limit="3h")
    for_tenant, for_operator = told(made)
    assert "Right before it: pod group ahead (queue q)." in for_operator
    assert "Right before" not in for_tenant
    for number in range(6):
        made.pending(f"more-{number}", queue="q", gpus=1, priority=70 + number)
    cluster = made.build()
    (estimate,) = when_starts(
        cluster, default_profile(), BUILT_IN, [index(cluster, "p")], never
    ).start_estimates
    assert (estimate.position, estimate.gpu_milli_ahead) == (8, 7_000)
    assert list(estimate.ahead) == ["ahead", "more-0", "more-1", "more-2", "more-3"]


def test_held_pod_groups_have_no_place() -> None:
    made = waiting().pending("kept", queue="q", gpus=1, held_by=HoldReason.USER)
    assert told(made, "kept")[0] == "Pod group kept (queue q) is held, so it has no place in its queue."


def test_running_pod_groups_do_not_wait() -> None:
    assert told(waiting(), "r")[0] == "Pod group r (queue other) does not wait."


def test_several_pod_groups_are_counted_and_estimated_by_uid() -> None:
    cluster = waiting(expected_runtime="2h").build()
    result = when_starts(cluster, default_profile(), BUILT_IN, [], never)
    assert result.text.public == f"Of 2 pod groups, 2 start within 1h, {UNLESS}"
    assert [each.pod_group for each in result.start_estimates] == ["ahead", "p"]
    assert [each.position for each in result.start_estimates] == [1, 2]
    assert [each.gpu_milli_ahead for each in result.start_estimates] == [0, 1_000]


@pytest.mark.parametrize(
    ("run", "simulations", "reasons"),
    [
        ({"time_limit": "3h"}, 512, []),
        ({"expected_runtime": "2h", "time_limit": "3h"}, 512, ["EXPECTED_ENDS"]),
        ({"expected_runtime": "2h"}, 512, ["NO_TIME_LIMIT"]),
        ({}, 512, ["UNKNOWN_ENDS"]),
        pytest.param({"time_limit": "3h"}, 0, ["SEARCH_LIMIT"], marks=pytest.mark.interpreted),
    ],
)
def test_range_has_its_reasons_r17_23(
    run: dict[str, str], simulations: int, reasons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(played_cluster, "MAX_PLAYED_SIMULATIONS", simulations)
    cluster = waiting(**run).build()
    result = when_starts(cluster, default_profile(), BUILT_IN, [index(cluster, "p")], never)
    (estimate,) = result.message(cluster).start_estimates
    told = [pb.RangeReason.Name(each).removeprefix("RANGE_REASON_") for each in estimate.range_reasons]
    assert told == reasons


def test_reserved_capacity_is_told_with_the_start_r17_20() -> None:
    made = ClusterBuilder().queue("q", quota=4).queue("other", quota=0).node("n", gpus=4)
    made.running("r", queue="other", node="n", gpus=4, started_ago="1h")
    made.pending("p", queue="q", gpus=4)
    assert told(made)[0] == f"Pod group p (queue q) has reserved capacity. It starts by {TODAY} 15:07:40 UTC."
