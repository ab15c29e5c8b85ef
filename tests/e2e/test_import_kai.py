"""`tenure import kai` as a process, and its files as the input of `tenure decide`."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf.json_format import Parse
from tenure.client.snapshot_file import read_snapshot
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import POD_STATUS_BINDING, POD_STATUS_PENDING

from tests.e2e.command import run_tenure
from tests.kubernetes.observe.cached_cluster import member, node, pod, pod_group, queue, running

CONFIG = {
    "actions": "allocate, reclaim, dance",
    "tiers": [
        {
            "plugins": [
                {"name": "proportion"},
                {"name": "minruntime", "arguments": {"defaultReclaimMinRuntime": "10m", "tempo": "fast"}},
                {"name": "magic", "arguments": None},
            ]
        },
        {"plugins": [{"name": "proportion"}]},
    ],
}
PARAMS = {
    "schedulerName": "kai-scheduler",
    "partitionParams": {"NodePoolLabelKey": "", "NodePoolLabelValue": ""},
    "maxNumberConsolidationPreemptees": 16,
    "allowConsolidatingReclaim": True,
    "globalDefaultStalenessGracePeriod": 60_000_000_000,
}


def with_metadata(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object as the API serves it: with a uid, and null for a missing time."""
    meta = {"uid": f"uid-{item['metadata']['name']}", "creationTimestamp": None, **item["metadata"]}
    return {**item, "metadata": meta}


def complete_snapshot() -> dict[str, Any]:
    """A snapshot with two running pods, one that is being bound, and a pending one."""
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2027-01-15T08:00:00Z"}
    objects = {
        "nodes": [node("n1", conditions=[ready]), node("n2")],
        "queues": [queue("top"), queue("q", parentQueue="top", reclaimMinRuntime="1h")],
        "podGroups": [pod_group("g", minMember=2, priorityClassName="train")],
        "priorityClasses": [{"metadata": {"name": "train"}, "value": 50}],
        "pods": [
            running("a", meta=member("g")),
            running("other", on="n2", spec={"schedulerName": "default-scheduler"}),
            pod("b", meta=member("g")),
            pod("c", meta=member("g")),
        ],
        "bindRequests": [
            {"metadata": {"name": "b", "namespace": "team"}, "spec": {"podName": "b", "selectedNode": "n2"}},
            {
                "metadata": {"name": "c", "namespace": "team"},
                "spec": {"podName": "c", "selectedNode": "n2"},
                "status": {"phase": "Failed"},
            },
        ],
        "configMaps": [],
        "topologies": None,
    }
    raw = {name: items and [with_metadata(item) for item in items] for name, items in objects.items()}
    return {"config": CONFIG, "schedulerParams": PARAMS, "rawObjects": raw}


def write_archive(path: Path, content: str, member: str = "snapshot.json") -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return str(path)


def test_a_snapshot_of_kai_becomes_a_snapshot_and_a_configuration_to_decide_with(tmp_path: Path) -> None:
    source = write_archive(tmp_path / "snapshot.zip", json.dumps(complete_snapshot()))
    output, profile = str(tmp_path / "kai.json"), tmp_path / "kai.yaml"
    done = run_tenure("import", "kai", source, "--output", output, "--config-output", str(profile))
    assert done.returncode == 0, done.stderr
    assert f"{output}: 2 nodes, 2 queues,\n  1 pod groups, 3 pods\n" in done.stdout
    for setting in ("action dance", "plugin magic", "argument tempo", "runs without: predicates, priority,"):
        assert setting in done.stderr
    snapshot = read_snapshot(output)
    assert snapshot.now.ToJsonString() == "2027-01-15T08:00:00Z"
    assert [row.allocatable.cpu_milli for row in snapshot.nodes] == [64_000, 63_000]
    assert {row.name: (row.status, row.node) for row in snapshot.pods if row.name != "a"} == {
        "b": (POD_STATUS_BINDING, "n2"),
        "c": (POD_STATUS_PENDING, ""),
    }
    assert yaml.safe_load(profile.read_text()) == {
        "actions": "allocate, reclaim",
        "tiers": [
            {
                "plugins": [
                    {"name": "proportion"},
                    {"name": "minruntime", "arguments": {"defaultReclaimMinRuntime": "10m"}},
                    {"name": "sg-nodelocalgreedy"},
                    {"name": "sg-multinodegang"},
                ]
            }
        ],
        "allowMissingPlugins": ["predicates", "priority", "elastic", "dynamicresources", "topology"],
        "options": {
            "allowConsolidatingReclaim": True,
            "skipSimilarPodGroups": False,
            "maxConsolidationVictims": 16,
            "stalenessGracePeriod": "1m",
        },
    }
    decided = run_tenure("decide", output, "--config", str(profile), "--output", "json")
    assert decided.returncode == 0, decided.stderr
    assert Parse(decided.stdout, DecideResponse()).header.cluster_id == "kai"


def test_time_and_cluster_id_can_be_set(tmp_path: Path) -> None:
    source = tmp_path / "snapshot.json"
    source.write_text(json.dumps(complete_snapshot()))
    output, now = str(tmp_path / "kai.json"), "2027-02-01T00:00:00Z"
    arguments = ["--now", now, "--cluster-id", "mine", "--config-output", str(tmp_path / "p.yaml")]
    done = run_tenure("import", "kai", str(source), "--output", output, *arguments)
    assert done.returncode == 0, done.stderr
    snapshot = read_snapshot(output)
    assert (snapshot.now.ToJsonString(), snapshot.cluster_id) == (now, "mine")


@pytest.mark.parametrize(
    ("content", "member_name", "message"),
    [
        ("{", "snapshot.json", "is not a snapshot of KAI-Scheduler"),
        ('{"config": {}}', "snapshot.json", "rawObjects"),
        ("{}", "other.json", "has no snapshot.json"),
    ],
)
def test_file_of_another_kind_is_reported_without_traceback(
    content: str, member_name: str, message: str, tmp_path: Path
) -> None:
    done = run_tenure("import", "kai", write_archive(tmp_path / "snapshot.zip", content, member_name))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_unreadable_objects_are_skipped_and_counted(tmp_path: Path) -> None:
    broken = complete_snapshot()
    broken["rawObjects"]["pods"].append({"metadata": {"name": "x"}, "spec": {"containers": 7}})
    source = write_archive(tmp_path / "snapshot.zip", json.dumps(broken))
    output = str(tmp_path / "kai.json")
    done = run_tenure(
        "import", "kai", source, "--output", output, "--config-output", str(tmp_path / "p.yaml")
    )
    assert done.returncode == 0
    assert "1 unreadable objects omitted" in done.stderr
    assert len(read_snapshot(output).pods) == 3
