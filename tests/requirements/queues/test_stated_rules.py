"""Every rule of queues can be stated in a file and on Kubernetes, and arrives in the snapshot (R19)."""

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from google.protobuf import text_format
from google.protobuf.message import Message
from tenure.client.snapshot_file import SnapshotFileError, read_snapshot
from tenure.kubernetes.limits.user_queues import UserQueueRules
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, member, node, pod, pod_group, queue

PAGE: Final = (Path(__file__).parents[3] / "docs/use/queue-rules.md").read_text()
LINES: Final = [line.strip("| ").split(" | ") for line in PAGE.splitlines()]
ROWS: Final = [cells for cells in LINES if len(cells) == 4 and "`" in cells[1]]
"""Rows of the tables of the page: rule, field, Kubernetes, Slurm."""


class Rule(NamedTuple):
    """How a rule is stated."""

    text: str
    """The row in a file."""
    expected: str
    """Fields of the row, in the text format of protobuf."""
    annotations: dict[str, str] = {}
    spec: dict[str, Any] = {}
    labels: dict[str, str] = {}


def note(**texts: str) -> dict[str, str]:
    return {f"tenure.scheduler/{key.replace('_', '-')}": text for key, text in texts.items()}


LATER: Final = "2027-02-01T00:00:00Z"
QUEUES: Final = {
    "Queue.class_limits": Rule(
        "class_limits: [{node_class: h100, quota_gpu_milli: 2000, limit_gpu_milli: 4000}]",
        'class_limits { node_class: "h100" quota_gpu_milli: 2000 limit_gpu_milli: 4000 }',
        note(class_limits="h100=4", class_quotas="h100=2"),
    ),
    "QueueResource.lending_limit": Rule(
        "gpu_milli: {quota: 6000, limit: -1, over_quota_weight: 1, lending_limit: 2000}",
        "gpu_milli { quota: 6000 limit: -1 over_quota_weight: 1 lending_limit: 2000 }",
        note(lending_limit="gpu=2"),
        {"resources": {"gpu": {"quota": 6, "limit": -1, "overQuotaWeight": 1}}},
    ),
    "QueueResource.limit": Rule(
        "gpu_milli: {quota: 6000, limit: 8000, over_quota_weight: 1}",
        "gpu_milli { quota: 6000 limit: 8000 over_quota_weight: 1 }",
        {},
        {"resources": {"gpu": {"quota": 6, "limit": 8, "overQuotaWeight": 1}}},
    ),
    "Queue.max_running": Rule("max_running: 3", "max_running: 3", note(max_running="3")),
    "Queue.time_limit": Rule("time_limit: 1h30m", "time_limit { seconds: 5400 }", note(time_limit="1h30m")),
    "Queue.on_time_limit": Rule(
        "on_time_limit: DELETE", "on_time_limit: FATE_DELETE", note(on_time_limit="delete")
    ),
}
POD_GROUPS: Final = {
    "PodGroup.time_limit": Rule("time_limit: 2h", "time_limit { seconds: 7200 }", note(time_limit="2h")),
    "PodGroup.on_time_limit": Rule(
        "on_time_limit: REQUEUE", "on_time_limit: FATE_REQUEUE", note(on_time_limit="requeue")
    ),
    "PodGroup.held_by": Rule("held_by: USER", "held_by: HOLD_REASON_USER", note(hold="true")),
    "PodGroup.held_by (administrator)": Rule(
        "held_by: ADMIN", "held_by: HOLD_REASON_ADMIN", note(hold="admin")
    ),
    "PodGroup.held_by (dependency)": Rule(
        "held_by: DEPENDENCY", "held_by: HOLD_REASON_DEPENDENCY", note(hold="dependency")
    ),
    "PodGroup.not_before_time": Rule(
        f'not_before_time: "{LATER}"', "not_before_time { seconds: 1801440000 }", note(not_before=LATER)
    ),
    "PodGroup.eligible_time": Rule(
        'eligible_time: "2027-01-02T00:00:00Z"',
        "eligible_time { seconds: 1798848000 }",
        note(released="2027-01-02T00:00:00Z"),
    ),
    "PodGroup.depends_on": Rule(
        "depends_on: [uid-first, gone]",
        'depends_on: "uid-first" depends_on: "gone"',
        note(depends_on="first, gone", hold="dependency"),
    ),
}
NODES: Final = {
    "Node.node_class": Rule(
        "node_class: h100", 'node_class: "h100"', labels={"tenure.scheduler/node-class": "h100"}
    )
}
ALL: Final = QUEUES | POD_GROUPS | NODES
USERS: Final = "Queue.parent"
"""Limits of users: a leaf queue for each, whose bounds are those of any queue."""


def assert_states(row: Message, rule: Rule) -> None:
    """The row has the fields that are expected."""
    expected = text_format.Parse(rule.expected, type(row)())
    for field, value in expected.ListFields():
        assert getattr(row, field.name) == value, field.name


@pytest.mark.parametrize("name", ALL)
def test_rule_is_stated_in_a_file(name: str, tmp_path: Path) -> None:
    rows = "queues" if name in QUEUES else "pod_groups" if name in POD_GROUPS else "nodes"
    file = tmp_path / "cluster.yaml"
    file.write_text(f"{rows}:\n- {ALL[name].text}\n")
    [row] = getattr(read_snapshot(str(file)), rows)
    assert_states(row, ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_rule_is_stated_on_kubernetes(name: str) -> None:
    rule, world = ALL[name], CachedCluster()
    world.put("nodes", node(labels=rule.labels))
    made = queue("q", **rule.spec)
    made["metadata"]["annotations"] = rule.annotations if name in QUEUES else {}
    world.put("kai_queues", made)
    world.put("kai_pod_groups", pod_group("first"))
    world.put("kai_pod_groups", pod_group("job", annotations=rule.annotations if name in POD_GROUPS else {}))
    world.put("pods", pod("job-0", meta=member("job")))
    builder = world.builder()
    snapshot = builder.snapshot(NOW)
    rows = {row.name: row for row in (*snapshot.queues, *snapshot.pod_groups, *snapshot.nodes)}
    assert_states(rows["q" if name in QUEUES else "job" if name in POD_GROUPS else "n1"], rule)
    assert [each.text for each in builder.warnings.active] == []


def test_limit_of_a_user_is_stated_in_a_file_and_on_kubernetes(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("queues:\n- {name: q}\n- {name: q/team, parent: q, gpu_milli: {limit: 2000}}\n")
    world = CachedCluster()
    world.put("kai_queues", {"metadata": {"name": "q", "annotations": note(user_limits="gpu=2")}, "spec": {}})
    world.put("kai_pod_groups", pod_group("job"))
    scope = SnapshotScope("test", node_pool_label="", user_queues=UserQueueRules(("q",)))
    for snapshot in (read_snapshot(str(file)), world.snapshot(scope)):
        row = next(row for row in snapshot.queues if row.name == "q/team")
        assert (row.parent, row.gpu_milli.limit) == ("q", 2_000)


def test_page_names_each_field_and_each_annotation_and_says_something_of_slurm() -> None:
    fields = {name.partition(" ")[0] for name in ALL} | {USERS}
    stated = {re.findall(r"`([A-Za-z]+\.[a-z_]+)`", cells[1])[0]: cells for cells in ROWS}
    assert stated.keys() == fields
    for name, rule in ALL.items():
        cells = stated[name.partition(" ")[0]]
        for key in (*rule.annotations, *rule.labels):
            assert key in cells[2] or key == "tenure.scheduler/hold", (name, key)
    assert all(len(cells[3]) > 5 for cells in stated.values())


def test_each_field_of_the_page_exists() -> None:
    for name in {name.partition(" ")[0] for name in ALL} | {USERS}:
        message, _, field = name.partition(".")
        assert field in getattr(pb, message).DESCRIPTOR.fields_by_name


@pytest.mark.parametrize(
    ("rows", "text", "problem"),
    [
        ("pod_groups", "class_limits: []", "class_limits: unknown field"),
        ("pod_groups", "max_running: 1", "max_running: unknown field"),
        ("queues", "held_by: USER", "held_by: unknown field"),
        ("queues", "lending_limit: 1", "lending_limit: unknown field"),
        ("nodes", "class_limits: []", "class_limits: unknown field"),
    ],
)
def test_rule_in_another_row_is_an_error(rows: str, text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(f"{rows}:\n- {text}\n")
    with pytest.raises(SnapshotFileError) as refused:
        read_snapshot(str(file))
    assert problem in str(refused.value)


def test_rule_on_another_object_of_kubernetes_is_a_warning() -> None:
    world = CachedCluster()
    of_queue, of_job = note(max_running="3", class_limits="h100=4"), note(hold="true", not_before=LATER)
    made = queue("q")
    made["metadata"]["annotations"] = of_job
    world.put("kai_queues", made)
    world.put("kai_pod_groups", pod_group("job", annotations=of_queue))
    builder = world.builder()
    builder.snapshot(NOW)
    assert sorted((each.subject, each.text) for each in builder.warnings.active) == [
        *(("PodGroup team/job", text) for text in misplaced(of_queue, "queues")),
        *(("Queue q", text) for text in misplaced(of_job, "pod groups")),
    ]


def misplaced(annotations: dict[str, str], owner: str) -> list[str]:
    return [
        f"annotation {key}: it has an effect on {owner} only: set it there" for key in sorted(annotations)
    ]
