"""When the memory of an eviction is forgotten, and for how long it must be kept."""

from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.cycle import decide
from tenure.solver.framework.profile import Options, Profile
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision, Patch, PatchKind
from tenure.solver.model.duration import SECOND, parse_duration
from tenure.solver.model.placement import TaskStatus
from tenure.solver.registry import check_profile, default_profile
from tenure.solver.testing import NOW, ClusterBuilder, next_cluster

from tests.unit.plugins.two_memories import GUARD, profile, remembering

NEW, OLD = 0, 1
"""Pod groups in the order of their names."""
FORGET = Patch(OLD, PatchKind.FORGET_PREEMPTOR, NEW)


def alone(decision: Decision) -> list[Patch]:
    """Patches about evictions that come with no move."""
    return [patch for group in decision.groups if group.action == GUARD for patch in group.patches]


def nobody_asks() -> Cluster:
    """`old` runs, and `new` has done its work."""
    builder = ClusterBuilder().node("n", gpus=1).queue("a").running("old", queue="a", gpus=1, node="n")
    return builder.pods("new", TaskStatus.SUCCEEDED, queue="a", gpus=1).build()


AGES = {
    "as old as the retention": ({"evicted": "24h"}, None),
    "older": ({"evicted": "24h1s"}, "forgotten"),
    "an old eviction and a failure as old as the retention": (
        {"evicted": "30h", "failed": "24h", "failures": 1},
        None,
    ),
    "an old eviction and an older failure": ({"evicted": "30h", "failed": "25h", "failures": 1}, "forgotten"),
    "a failure from before an eviction": ({"evicted": "24h", "failed": "30h", "failures": 1}, None),
    "in the future, by a clock that is wrong": ({"evicted": "-48h"}, None),
    "still open after all that time": ({"evicted": "25h", "unsettled": True}, "forgotten"),
}


@pytest.mark.parametrize(("memory", "fate"), AGES.values(), ids=AGES)
def test_what_is_long_past_is_forgotten(memory: dict[str, Any], fate: str | None) -> None:
    cluster = remembering(nobody_asks(), "old", "new", **memory)
    expected = [FORGET] if fate else []
    assert alone(decide(cluster, profile())) == expected


def test_what_is_forgotten_is_gone_from_the_next_snapshot() -> None:
    cluster = remembering(nobody_asks(), "old", "new", evicted="25h")
    cluster = remembering(cluster, "new", "old", evicted="23h")
    after = next_cluster(cluster, decide(cluster, profile()), SECOND)
    assert after.eviction_memory == (cluster.eviction_memory[NEW],)


def test_a_failure_that_is_found_late_is_a_new_one() -> None:
    cluster = ClusterBuilder().node("n", gpus=1).queue("a").pending("old", queue="a", gpus=1)
    cluster = remembering(
        cluster.pending("new", queue="a", gpus=9).build(), "old", "new", evicted="99h", unsettled=True
    )
    (patch,) = alone(decide(cluster, profile()))
    assert patch.memory is not None
    assert (patch.memory.failures, patch.memory.last_failure) == (1, NOW)


def test_of_use_and_long_past_is_forgotten_at_once() -> None:
    builder = ClusterBuilder().node("n", gpus=1).queue("a").pending("old", queue="a", gpus=1)
    builder.running("new", queue="a", gpus=1, node="n")
    cluster = remembering(builder.build(), "old", "new", evicted="25h", unsettled=True)
    assert alone(decide(cluster, profile())) == [FORGET]


def test_the_retention_is_an_option() -> None:
    cluster = remembering(nobody_asks(), "old", "new", evicted="2h")
    assert alone(decide(cluster, kept_for("1h59m59s"))) == [FORGET]
    assert alone(decide(cluster, kept_for("2h"))) == []


def kept_for(retention: str, **arguments: str) -> Profile:
    return replace(profile(**arguments), options=Options(eviction_memory_retention=parse_duration(retention)))


RETENTIONS = {
    "as long as the longest backoff": ("1h", {}, ""),
    "shorter than the longest backoff": ("59m59s", {}, "1h"),
    "shorter than the cooldown": ("1h", {"cooldown": "2h"}, "2h"),
    "as long as both": ("3m", {"cooldown": "3m", "maxBackoff": "3m"}, ""),
}


@pytest.mark.parametrize(("retention", "arguments", "longest"), RETENTIONS.values(), ids=RETENTIONS)
def test_nothing_may_be_forgotten_that_would_protect(
    retention: str, arguments: dict[str, str], longest: str
) -> None:
    problem = f"{retention} is too short; evictionmemory protects for up to {longest}: use that or more"
    expected = [("options.evictionMemoryRetention", problem)] if longest else []
    assert check_profile(kept_for(retention, **arguments)) == expected


def test_a_bad_argument_is_the_only_problem_of_its_plugin() -> None:
    ((path, _),) = check_profile(kept_for("1s", cooldown="soon"))
    assert path.endswith(".arguments.cooldown")


def many(count: int) -> Cluster:
    """Pod groups that wait for nothing, and a memory of each for the next."""
    builder = ClusterBuilder().node("n", gpus=1).queue("a")
    for number in range(count):
        builder.pending(f"job{number}", queue="a", gpus=9)
    cluster = builder.build()
    for number in range(count - 1):
        cluster = remembering(cluster, f"job{number}", f"job{number + 1}", evicted="25h")
    return cluster


def test_patches_are_in_the_order_of_the_pairs() -> None:
    cluster = many(9)
    backwards = replace(cluster, eviction_memory=cluster.eviction_memory[::-1])
    patches = alone(decide(backwards, default_profile()))
    assert [(patch.pod_group, patch.value) for patch in patches] == [(i, i + 1) for i in range(8)]
