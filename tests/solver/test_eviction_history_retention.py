"""Deletion of eviction records, and how long a record must be stored."""

from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, Patch, PatchKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import CycleOptions, Profile
from tenure.solver.registry import check_profile, default_profile
from tenure.solver.testing import NOW, ClusterBuilder, apply_decisions
from tenure.terms.durations import SECOND, parse_duration

from tests.solver.plugins.guards.eviction_pair import GUARD, profile, with_eviction_record

NEW, OLD = 0, 1
"""Indices of pod groups in the order of their names."""
DELETE_RECORD = Patch(OLD, PatchKind.DELETE_EVICTION_RECORD, NEW)


def standalone_patches(decision: CycleResult) -> list[Patch]:
    """Patches of the eviction history without other decisions."""
    return [patch for group in decision.groups if group.action == GUARD for patch in group.patches]


def without_contention() -> Cluster:
    """`old` runs, and `new` has completed."""
    builder = ClusterBuilder().node("n", gpus=1).queue("a").running("old", queue="a", gpus=1, node="n")
    return builder.pods("new", TaskStatus.SUCCEEDED, queue="a", gpus=1).build()


AGES = {
    "as old as the retention": ({"evicted": "24h"}, None),
    "older": ({"evicted": "24h1s"}, "forgotten"),
    "an old eviction and a failure as old as the retention": (
        {"evicted": "30h", "failed": "24h", "consecutive_failures": 1},
        None,
    ),
    "an old eviction and an older failure": (
        {"evicted": "30h", "failed": "25h", "consecutive_failures": 1},
        "forgotten",
    ),
    "a failure from before an eviction": (
        {"evicted": "24h", "failed": "30h", "consecutive_failures": 1},
        None,
    ),
    "in the future, by a clock that is wrong": ({"evicted": "-48h"}, None),
    "still open after all that time": ({"evicted": "25h", "result_pending": True}, "forgotten"),
}


@pytest.mark.parametrize(("memory", "fate"), AGES.values(), ids=AGES)
def test_eviction_record_is_deleted_after_its_retention(memory: dict[str, Any], fate: str | None) -> None:
    cluster = with_eviction_record(without_contention(), "old", "new", **memory)
    expected = [DELETE_RECORD] if fate else []
    assert standalone_patches(answer(cluster, profile())) == expected


def test_deleted_eviction_record_is_absent_from_the_next_snapshot() -> None:
    cluster = with_eviction_record(without_contention(), "old", "new", evicted="25h")
    cluster = with_eviction_record(cluster, "new", "old", evicted="23h")
    after = apply_decisions(cluster, answer(cluster, profile()), SECOND)
    assert after.eviction_history == (cluster.eviction_history[NEW],)


def test_late_detected_ineffective_eviction_is_a_new_failure() -> None:
    cluster = ClusterBuilder().node("n", gpus=1).queue("a").pending("old", queue="a", gpus=1)
    cluster = with_eviction_record(
        cluster.pending("new", queue="a", gpus=9).build(), "old", "new", evicted="99h", result_pending=True
    )
    (patch,) = standalone_patches(answer(cluster, profile()))
    assert patch.record is not None
    assert (patch.record.consecutive_failures, patch.record.last_failure) == (1, NOW)


def test_old_effective_eviction_is_deleted_immediately() -> None:
    builder = ClusterBuilder().node("n", gpus=1).queue("a").pending("old", queue="a", gpus=1)
    builder.running("new", queue="a", gpus=1, node="n")
    cluster = with_eviction_record(builder.build(), "old", "new", evicted="25h", result_pending=True)
    assert standalone_patches(answer(cluster, profile())) == [DELETE_RECORD]


def test_the_retention_is_an_option() -> None:
    cluster = with_eviction_record(without_contention(), "old", "new", evicted="2h")
    assert standalone_patches(answer(cluster, with_retention("1h59m59s"))) == [DELETE_RECORD]
    assert standalone_patches(answer(cluster, with_retention("2h"))) == []


def with_retention(retention: str, **arguments: str) -> Profile:
    return replace(
        profile(**arguments), options=CycleOptions(eviction_history_retention=parse_duration(retention))
    )


RETENTIONS = {
    "as long as the longest backoff": ("1h", {}, ""),
    "shorter than the longest backoff": ("59m59s", {}, "1h"),
    "shorter than the cooldown": ("1h", {"cooldown": "2h"}, "2h"),
    "as long as both": ("3m", {"cooldown": "3m", "maxBackoff": "3m"}, ""),
}


@pytest.mark.parametrize(("retention", "arguments", "longest"), RETENTIONS.values(), ids=RETENTIONS)
def test_retention_shorter_than_the_protection_is_a_problem(
    retention: str, arguments: dict[str, str], longest: str
) -> None:
    problem = f"{retention} is too short; evictionbackoff protects for up to {longest}: use that or more"
    expected = [("options.evictionHistoryRetention", problem)] if longest else []
    assert check_profile(with_retention(retention, **arguments)) == expected


def test_invalid_argument_is_the_only_problem_of_its_plugin() -> None:
    ((path, _),) = check_profile(with_retention("1s", cooldown="soon"))
    assert path.endswith(".arguments.cooldown")


def many_eviction_records(count: int) -> Cluster:
    """Pod groups without pending pods, each with an eviction record for the next one."""
    builder = ClusterBuilder().node("n", gpus=1).queue("a")
    for number in range(count):
        builder.pending(f"job{number}", queue="a", gpus=9)
    cluster = builder.build()
    for number in range(count - 1):
        cluster = with_eviction_record(cluster, f"job{number}", f"job{number + 1}", evicted="25h")
    return cluster


def test_patches_are_in_the_order_of_the_pairs() -> None:
    cluster = many_eviction_records(9)
    backwards = replace(cluster, eviction_history=cluster.eviction_history[::-1])
    patches = standalone_patches(answer(backwards, default_profile()))
    assert [(patch.pod_group, patch.value) for patch in patches] == [(i, i + 1) for i in range(8)]
