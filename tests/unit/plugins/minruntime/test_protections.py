"""What the answer says of minimum runtimes: from whom, from which actions, what, until when, who says so."""

import pytest
from tenure.solver.model.decision import Protection
from tenure.solver.model.duration import SECOND
from tenure.solver.model.guard import Scope
from tenure.solver.model.workload import Preemptibility
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.solver.testing.options import JobOptions

from tests.unit.plugins.minruntime.company import company, guarding

BEYOND = ("reclaim", "consolidation", "requeue")
WITHIN = ("preempt", "consolidation", "requeue")
Told = tuple[str, tuple[str, ...], Scope, int | None, str]
"""Of a protection: from whom, from which actions, what, minutes that are left, and who says so."""


def told(builder: ClusterBuilder, **arguments: str) -> list[Told]:
    found = list(guarding(builder, **arguments).plugins["minruntime"].protections([0]))
    assert {(each.pod_group, each.guard) for each in found} <= {(0, "minruntime")}
    return [(each.against, each.actions, each.scope, _minutes(each), each.source) for each in found]


def _minutes(protection: Protection) -> int | None:
    return None if protection.until is None else (protection.until - NOW) // (60 * SECOND)


GANG: JobOptions = {"started_ago": "5m"}
ELASTIC: JobOptions = {"started_ago": "5m", "count": 2, "min_member": 1}
FIRM: JobOptions = {"started_ago": "5m", "preemptibility": Preemptibility.NON_PREEMPTIBLE}
SEMI: JobOptions = {**ELASTIC, "preemptibility": Preemptibility.SEMI_PREEMPTIBLE}
ROWS: dict[str, tuple[ClusterBuilder, list[Told]]] = {
    "nobody says anything": (company(GANG), []),
    "R7.20 it is over": (company(GANG, preempt={"a1": "5m"}, reclaim={"a": "4m"}), []),
    "R7.20 nobody knows when it started": (company({"started_ago": None}, reclaim={"a": "1h"}), []),
    "R7.46 one end against its own queue, one against the others": (
        company(GANG, preempt={"a1": "10m"}, reclaim={"a": "1h"}),
        [("", BEYOND, Scope.ALL, 55, "queue a"), ("a1", WITHIN, Scope.ALL, 5, "queue a1")],
    ),
    "an elastic one may lose its surplus": (
        company(ELASTIC, preempt={"a1": "10m"}),
        [("a1", WITHIN, Scope.CORE, 5, "queue a1")],
    ),
    "a semi-preemptible one too": (
        company(SEMI, preempt={"a1": "10m"}),
        [("a1", WITHIN, Scope.CORE, 5, "queue a1")],
    ),
    "a non-preemptible one is not its business": (company(FIRM, preempt={"a1": "10m"}), []),
    "R7.12 a department's value against all, a leaf's against its siblings": (
        company(GANG, reclaim={"a": "1h", "a1": "2h"}, preempt={"a": "10m"}),
        [
            ("", BEYOND, Scope.ALL, 55, "queue a"),
            ("a", BEYOND, Scope.ALL, 115, "queue a1"),
            ("a1", WITHIN, Scope.ALL, 5, "queue a"),
        ],
    ),
    "an explicit zero is an exception for the siblings, and its own queue another": (
        company(GANG, reclaim={"a": "1h", "a1": "0"}),
        [
            ("", BEYOND, Scope.ALL, 55, "queue a"),
            ("a", BEYOND, Scope.NOTHING, None, "queue a1"),
            ("a1", WITHIN, Scope.NOTHING, None, "default of minruntime"),
        ],
    ),
    "against siblings only": (
        company(GANG, reclaim={"a1": "1h"}, preempt={"a1": "1h"}),
        [("a", BEYOND, Scope.ALL, 55, "queue a1"), ("a1", WITHIN, Scope.ALL, 55, "queue a1")],
    ),
}


@pytest.mark.parametrize(("builder", "expected"), ROWS.values(), ids=ROWS)
def test_protections_are_told_with_their_end_and_their_source_the_widest_first(
    builder: ClusterBuilder, expected: list[Told]
) -> None:
    assert told(builder) == expected


def test_the_defaults_of_the_profile_are_told_as_such() -> None:
    found = told(company(GANG), defaultReclaimMinRuntime="1h", defaultPreemptMinRuntime="6m")
    assert found == [
        ("", BEYOND, Scope.ALL, 55, "default of minruntime"),
        ("a1", WITHIN, Scope.ALL, 1, "default of minruntime"),
    ]


def test_protections_are_from_the_actions_of_the_profile_only() -> None:
    builder = company(GANG, preempt={"a1": "10m"}, reclaim={"a": "1h"})
    assert told(builder, actions="preempt, reclaim") == [
        ("", ("reclaim",), Scope.ALL, 55, "queue a"),
        ("a1", ("preempt",), Scope.ALL, 5, "queue a1"),
    ]
    assert told(builder, actions="reclaim") == [("", ("reclaim",), Scope.ALL, 55, "queue a")]
