"""The list of workloads: rows, preemptibility and pod counts, as a table and as JSON."""

import json

import pytest
from google.protobuf import text_format
from tenure.cli.workload_table import workloads_json
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.cli.workload_cases import (
    FIELD,
    SEMI,
    SNAPSHOT,
    Change,
    as_gang,
    decide,
    default_snapshot,
    flat,
    list_workloads,
    only_json_object,
    render_table,
    unchanged,
    with_group,
    with_protection,
)

LEGACY_HIGH = with_group("priority: 125")
NOTE = with_group('annotations { key: "kai.scheduler/preemptibility" value: "semi-preemptible" }')
TYPO = with_group('annotations { key: "kai.scheduler/preemptibility" value: "Never" }')


@pytest.mark.parametrize(
    ("change", "preemptibility", "source", "cell"),
    [
        (unchanged, "Preemptible", "priority", "! priority"),
        (LEGACY_HIGH, "Non-Preemptible", "priority", "! priority"),
        (FIELD, "Non-Preemptible", "field", "field"),
        (SEMI, "Semi-Preemptible", "field", "field"),
        (NOTE, "Semi-Preemptible", "annotation", "annotation"),
        (default_snapshot(FIELD, NOTE), "Non-Preemptible", "field", "field"),
        (TYPO, "Non-Preemptible", "annotation", "! unknown value"),
    ],
)
def test_preemptibility_is_shown_with_its_source(
    change: Change, preemptibility: str, source: str, cell: str
) -> None:
    view, found = decide(change)
    facts = only_json_object(view, found)
    assert (facts["preemptibility"], facts["preemptibility_source"]) == (preemptibility, source)
    assert bool(facts["preemptibility_problem"]) == (change is TYPO)
    first, second = [
        line for line in render_table(view, found).splitlines() if line.startswith(("team", "leaf"))
    ]
    assert preemptibility in first.split()
    assert flat(second).startswith(f"leaf {cell}")


PARTS = """
sub_groups { name: "head" min_member: 1 }
sub_groups { name: "small" min_member: 2 }
sub_groups { name: "large" min_member: 5 }
"""


@pytest.mark.parametrize(
    ("change", "minimum"),
    [
        (unchanged, 1),
        (as_gang, 2),
        (with_group(PARTS), 8),
        (with_group(f"{PARTS} min_sub_group: 2"), 3),
    ],
)
def test_minimum_is_the_smallest_number_of_pods_that_satisfies_the_pod_group_r1_55(
    change: Change, minimum: int
) -> None:
    _, (found,) = decide(change)
    assert found.minimum == minimum


def test_running_pending_and_minimum_pods_are_counted() -> None:
    def change(snapshot: ClusterSnapshot) -> None:
        for status, node in (("BOUND", "n1"), ("PENDING", ""), ("GATED", ""), ("RELEASING", "n1")):
            uid = f"extra-{status}"
            snapshot.pods.add(uid=uid, pod_group="u", shape="gpu", status=f"POD_STATUS_{status}", node=node)

    view, found = decide(change)
    assert "50 Preemptible 3/2/1" in flat(render_table(view, found))
    facts = only_json_object(view, found)
    assert [facts[f"pods_{kind}"] for kind in ("running", "pending", "minimum")] == [3, 2, 1]


def many_pod_groups(number: int) -> ClusterSnapshot:
    snapshot = text_format.Parse(SNAPSHOT, ClusterSnapshot())
    for i in range(number):
        queue, priority = ("leaf", "other")[i % 2], i % 3
        group = snapshot.pod_groups.add(uid=f"g{i:02}", name=f"job-{i:02}", queue=queue, priority=priority)
        group.creation_time.seconds = 1
    return snapshot


def test_workloads_are_sorted_by_queue_priority_and_name() -> None:
    _, found = list_workloads(many_pod_groups(6))
    assert [each.name for each in found] == [
        *("job", "job-02", "job-04", "job-00"),
        *("job-05", "job-01", "job-03"),
    ]


@pytest.mark.parametrize(
    ("queue", "number"), [("leaf", 4), ("other", 3), ("top", 7), (None, 7), ("elsewhere", 0)]
)
def test_queue_filter_includes_its_descendants(queue: str | None, number: int) -> None:
    _, found = list_workloads(many_pod_groups(6), queue)
    assert len(found) == number


def test_long_list_is_summarized_by_queue_and_preemptibility() -> None:
    text = flat(render_table(*list_workloads(many_pod_groups(60))))
    assert "31 leaf Preemptible priority 30 other Preemptible priority" in text
    assert "… and 56 more: --output json shows all." in text


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    view, found = decide(default_snapshot(with_protection, TYPO, with_group(f'name: "{"long-name-" * 6}"')))
    assert max(map(len, render_table(view, found, width).splitlines())) <= width


def test_list_starts_with_counts_and_ends_with_the_next_wake_time() -> None:
    text = flat(render_table(*decide(with_protection)))
    assert text.startswith("22:13 UTC: 1 pod group, 1 running; preemptibility of 1 derived from priority.")
    assert text.endswith("Next evaluation needed at 23:03 UTC.")


def test_equal_snapshots_have_equal_text() -> None:
    assert render_table(*decide(with_protection)) == render_table(*decide(with_protection))
    assert workloads_json(*decide(with_protection)) == workloads_json(*decide(with_protection))


def test_json_document_contains_the_times() -> None:
    view, found = decide(with_protection)
    document = json.loads(workloads_json(view, found))
    assert document["now"] == "2023-11-14T22:13:20Z"
    assert document["next_wake_time"] == "2023-11-14T23:03:20Z"
    assert only_json_object(view, found) == {
        "uid": "u",
        "name": "job",
        "namespace": "team",
        "queue": "leaf",
        "priority": 50,
        "preemptibility": "Preemptible",
        "preemptibility_source": "priority",
        "preemptibility_problem": "",
        "preemptibility_requested": None,
        "not_in_force": "",
        "pods_running": 2,
        "pods_pending": 0,
        "pods_minimum": 1,
        "state": "running",
        "held_by": None,
        "not_before": None,
        "runs_for_seconds": 600,
        "is_protected": True,
        "protections": [
            {
                "guard": "minruntime",
                "actions": ["preempt", "consolidation", "requeue"],
                "against": "leaf",
                "against_pod_group": "",
                "scope": "core",
                "until": "2023-11-14T23:03:20Z",
                "source": "queue leaf",
            }
        ],
        "disruption_budgets": [],
        "expected_runtime_seconds": None,
        "expected_runtime_source": "",
        "expected_end": None,
        "expected_end_certainty": "unknown",
        "latest_end": None,
        "notices": [],
        "as_victim": None,
        "requeue": None,
    }
