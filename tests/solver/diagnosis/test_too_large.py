"""A pod group that is larger than its queue permits does not start, whatever ends."""

import pytest
from tenure.solver.diagnosis.too_large import is_too_large
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

# bounds of the queue, reason, pods of 1 GPU and 2 cores -> whether four are too many
CASES = {
    "within its limit": ({"limit": 4}, ReasonCode.OVER_LIMIT, False),
    "above its limit": ({"limit": 3}, ReasonCode.OVER_LIMIT, True),
    "above its quota, which does not bound all": ({"quota": 3}, ReasonCode.OVER_LIMIT, False),
    "above its quota as non-preemptible": ({"quota": 3}, ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA, True),
    "another reason": ({"limit": 3}, ReasonCode.NO_CAPACITY, False),
}


@pytest.mark.parametrize(("bounds", "code", "expected"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("parent", [False, True], ids=["", "by an ancestor"])
def test_minimum_beyond_a_bound(
    bounds: dict[str, int], code: ReasonCode, expected: bool, parent: bool
) -> None:
    builder = ClusterBuilder().node("n", gpus=8)
    if parent:
        builder.queue("top", **bounds).queue("q", parent="top", quota=8)
    else:
        builder.queue("q", **bounds)
    cluster = builder.pending("gang", queue="q", gpus=1, count=4).build()
    assert is_too_large(cluster, 0, code) is expected


@pytest.mark.parametrize(("required", "expected"), [(1, False), (2, True)])
def test_only_subgroups_that_are_required_count(required: int, expected: bool) -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q", limit=5)
    builder.pod_group("gang", queue="q", min_sub_groups=required)
    for name in ("a", "b"):
        builder.sub_group("gang", name, min_member=4)
        builder.pending("gang", gpus=1, count=4, sub_group=name)
    assert is_too_large(builder.build(), 0, ReasonCode.OVER_LIMIT) is expected


def test_cpus_count_too() -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q", cpu_limit=7)
    cluster = builder.pending("gang", queue="q", gpus=1, cpus=2, count=4).build()
    assert is_too_large(cluster, 0, ReasonCode.OVER_LIMIT)
