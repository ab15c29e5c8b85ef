"""Protections by minimum runtimes in the response: preemptors, actions, scope, end and source."""

import pytest
from tenure.solver.model.verdict import Protection, ProtectionScope
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.solver.testing.options import JobOptions
from tenure.terms.durations import SECOND

from tests.solver.plugins.guards.min_runtime.departments import open_min_runtime_session, two_departments

BEYOND = ("reclaim", "consolidation", "requeue")
WITHIN = ("preempt", "consolidation", "requeue")
ReportedProtection = tuple[str, tuple[str, ...], ProtectionScope, int | None, str]
"""Preemptors, actions, scope, minutes left, and source of a protection."""


def reported_protections(builder: ClusterBuilder, **arguments: str) -> list[ReportedProtection]:
    found = open_min_runtime_session(builder, **arguments).chains.protections([0])
    assert {(each.pod_group, each.guard) for each in found} <= {(0, "minruntime")}
    return [(each.against, each.actions, each.scope, _minutes(each), each.source) for each in found]


def _minutes(protection: Protection) -> int | None:
    return None if protection.until is None else (protection.until - NOW) // (60 * SECOND)


GANG: JobOptions = {"started_ago": "5m"}
ELASTIC: JobOptions = {"started_ago": "5m", "count": 2, "min_member": 1}
NON_PREEMPTIBLE: JobOptions = {"started_ago": "5m", "preemptibility": Preemptibility.NON_PREEMPTIBLE}
SEMI: JobOptions = {**ELASTIC, "preemptibility": Preemptibility.SEMI_PREEMPTIBLE}
ROWS: dict[str, tuple[ClusterBuilder, list[ReportedProtection]]] = {
    "nobody says anything": (two_departments(GANG), []),
    "R7.20 it is over": (two_departments(GANG, preempt={"a1": "5m"}, reclaim={"a": "4m"}), []),
    "R7.20 nobody knows when it started": (two_departments({"started_ago": None}, reclaim={"a": "1h"}), []),
    "R7.46 one end against its own queue, one against the others": (
        two_departments(GANG, preempt={"a1": "10m"}, reclaim={"a": "1h"}),
        [
            ("", BEYOND, ProtectionScope.ALL, 55, "queue a"),
            ("a1", WITHIN, ProtectionScope.ALL, 5, "queue a1"),
        ],
    ),
    "an elastic one may lose its surplus": (
        two_departments(ELASTIC, preempt={"a1": "10m"}),
        [("a1", WITHIN, ProtectionScope.CORE, 5, "queue a1")],
    ),
    "a semi-preemptible one too": (
        two_departments(SEMI, preempt={"a1": "10m"}),
        [("a1", WITHIN, ProtectionScope.CORE, 5, "queue a1")],
    ),
    "a non-preemptible one is not its business": (
        two_departments(NON_PREEMPTIBLE, preempt={"a1": "10m"}),
        [],
    ),
    "R7.12 a department's value against all, a leaf's against its siblings": (
        two_departments(GANG, reclaim={"a": "1h", "a1": "2h"}, preempt={"a": "10m"}),
        [
            ("", BEYOND, ProtectionScope.ALL, 55, "queue a"),
            ("a", BEYOND, ProtectionScope.ALL, 115, "queue a1"),
            ("a1", WITHIN, ProtectionScope.ALL, 5, "queue a"),
        ],
    ),
    "an explicit zero is an exception for the siblings, and its own queue another": (
        two_departments(GANG, reclaim={"a": "1h", "a1": "0"}),
        [
            ("", BEYOND, ProtectionScope.ALL, 55, "queue a"),
            ("a", BEYOND, ProtectionScope.NOTHING, None, "queue a1"),
            ("a1", WITHIN, ProtectionScope.NOTHING, None, "default of minruntime"),
        ],
    ),
    "against siblings only": (
        two_departments(GANG, reclaim={"a1": "1h"}, preempt={"a1": "1h"}),
        [
            ("a", BEYOND, ProtectionScope.ALL, 55, "queue a1"),
            ("a1", WITHIN, ProtectionScope.ALL, 55, "queue a1"),
        ],
    ),
}


@pytest.mark.parametrize(("builder", "expected"), ROWS.values(), ids=ROWS)
def test_protections_are_reported_with_end_and_source_widest_first(
    builder: ClusterBuilder, expected: list[ReportedProtection]
) -> None:
    assert reported_protections(builder) == expected


def test_defaults_of_the_profile_are_reported_as_source() -> None:
    found = reported_protections(
        two_departments(GANG), defaultReclaimMinRuntime="1h", defaultPreemptMinRuntime="6m"
    )
    assert found == [
        ("", BEYOND, ProtectionScope.ALL, 55, "default of minruntime"),
        ("a1", WITHIN, ProtectionScope.ALL, 1, "default of minruntime"),
    ]


def test_protections_are_from_the_actions_of_the_profile_only() -> None:
    builder = two_departments(GANG, preempt={"a1": "10m"}, reclaim={"a": "1h"})
    assert reported_protections(builder, actions="preempt, reclaim") == [
        ("", ("reclaim",), ProtectionScope.ALL, 55, "queue a"),
        ("a1", ("preempt",), ProtectionScope.ALL, 5, "queue a1"),
    ]
    assert reported_protections(builder, actions="reclaim") == [
        ("", ("reclaim",), ProtectionScope.ALL, 55, "queue a")
    ]
