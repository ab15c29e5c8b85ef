"""What each plugin that safety needs prevents: cycles with the default plugins, and without one."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tenure.cli.main import app
from tenure.solver.registry import SAFETY_PLUGINS
from typer.testing import CliRunner

Json = dict[str, Any]


def node(name: str, gpus: int, **fields: Any) -> Json:
    allocatable = {"cpu_milli": 64_000, "memory_bytes": 2**36, "gpu_milli": gpus * 1_000, "pods": 110}
    return {"name": name, "allocatable": allocatable, **fields}


def pod_group(uid: str, queue: str = "q", hour: int = 8, **fields: Any) -> Json:
    created = {
        "creation_time": f"2025-03-03T{hour:02}:00:00Z",
        "preemptibility": "PREEMPTIBILITY_PREEMPTIBLE",
    }
    return {"uid": uid, "queue": queue, **created, **fields}


def pod(uid: str, group: str, on: str = "", **fields: Any) -> Json:
    placed = {"status": "POD_STATUS_RUNNING", "node": on} if on else {"status": "POD_STATUS_PENDING"}
    return {"uid": uid, "pod_group": group, "shape": "gpu", **placed, **fields}


GPU = {"id": "gpu", "requests": {"cpu_milli": 1_000}, "gpu": {"devices": 1}}
STARTED = {"last_start_time": "2025-03-03T09:50:00Z"}
RACKS = [node(f"n{i}", 1, labels={"rack": f"r{i}"}) for i in (1, 2)]
CASES: dict[str, tuple[Json, list[str], list[str]]] = {
    "predicates": (
        {
            "nodes": [node("n", 1, taints=[{"key": "spare", "effect": "TAINT_EFFECT_NO_SCHEDULE"}])],
            "pod_groups": [pod_group("job")],
            "pods": [pod("job-0", "job")],
        },
        [],
        ["bind job-0"],
    ),
    "proportion": (
        {
            "nodes": [node("n", 2)],
            "queues": [{"name": "q", "gpu_milli": {"limit": 1_000}}],
            "pod_groups": [pod_group("old", **STARTED), pod_group("new")],
            "pods": [pod("old-0", "old", "n"), pod("new-0", "new")],
        },
        [],
        ["bind new-0"],
    ),
    "priority": (
        {
            "nodes": [node("n", 1)],
            "pod_groups": [pod_group("low", priority=50), pod_group("high", hour=9, priority=90)],
            "pods": [pod("low-0", "low"), pod("high-0", "high")],
        },
        ["bind high-0"],
        ["bind low-0"],
    ),
    "elastic": (
        {
            "nodes": [node("n", 2)],
            "pod_groups": [pod_group("elastic", min_member=1, **STARTED), pod_group("gang", hour=9)],
            "pods": [pod("elastic-0", "elastic", "n"), pod("elastic-1", "elastic"), pod("gang-0", "gang")],
        },
        ["bind gang-0"],
        ["bind elastic-1"],
    ),
    "dynamicresources": (
        {
            "nodes": [node("n", 2)],
            "queues": [{"name": "q"}, {"name": "other"}],
            "resource_claims": [
                {
                    "id": "claim",
                    "requests": [{"device_class": "gpu.nvidia.com", "count": 1}],
                    "queue": "other",
                    "node": "n",
                }
            ],
            "shapes": [{"id": "gpu", "requests": {"cpu_milli": 1_000}}],
            "pod_groups": [pod_group("job")],
            "pods": [pod("job-0", "job", resource_claims=["claim"])],
        },
        [],
        ["bind job-0"],
    ),
    "minruntime": (
        {
            "nodes": [node("n", 1)],
            "queues": [{"name": "q", "preempt_min_runtime": "3600s"}],
            "pod_groups": [pod_group("young", priority=50, **STARTED), pod_group("urgent", priority=90)],
            "pods": [pod("young-0", "young", "n"), pod("urgent-0", "urgent")],
        },
        [],
        ["evict young-0"],
    ),
    "topology": (
        {
            "nodes": RACKS,
            "topologies": [{"name": "dc", "levels": ["rack"]}],
            "pod_groups": [
                pod_group(
                    "gang", min_member=2, topology_constraint={"topology": "dc", "required_level": "rack"}
                )
            ],
            "pods": [pod("gang-0", "gang"), pod("gang-1", "gang")],
        },
        [],
        ["bind gang-0", "bind gang-1"],
    ),
}


def decisions(tmp_path: Path, cluster: Json, configuration: str) -> list[str]:
    """Bindings and evictions of `tenure decide`."""
    common = {"cluster_id": "c", "version": 1, "now": "2025-03-03T10:00:00Z"}
    snapshot, config = tmp_path / "cluster.yaml", tmp_path / "tenure.yaml"
    snapshot.write_text(yaml.safe_dump({"queues": [{"name": "q"}], "shapes": [GPU], **common, **cluster}))
    config.write_text(configuration)
    ended = CliRunner().invoke(
        app, ["decide", str(snapshot), "--config", str(config), "--output", "json"], catch_exceptions=False
    )
    assert ended.exit_code == 0, ended.output
    steps = [step for group in json.loads(ended.stdout).get("groups", []) for step in group["decisions"]]
    return sorted(
        f"{kind} {step[kind]['pod']}" for step in steps for kind in ("bind", "evict") if kind in step
    )


def test_every_plugin_that_safety_needs_has_a_case() -> None:
    assert CASES.keys() == SAFETY_PLUGINS.keys()


@pytest.mark.parametrize("name", CASES)
def test_without_the_plugin_the_server_permits_what_the_snapshot_forbids(name: str, tmp_path: Path) -> None:
    cluster, safe, unsafe = CASES[name]
    assert decisions(tmp_path, cluster, "") == safe
    assert decisions(tmp_path, cluster, f"plugins: {{{name}: false}}") == unsafe
