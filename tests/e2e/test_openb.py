"""Decisions on a production trace, or on a similar generated cluster, are sound at several loads.

The trace is used if it is next to the checkout. A generated cluster in its format is always used.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from tenure.cli.importers.openb import import_openb
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.checker import verify
from tests.e2e.command import ROOT
from tests.e2e.generated_trace import write_trace

pytestmark = pytest.mark.long

TRACE = ROOT.parent / "shared/traces/openb"
PROFILE = default_profile()
ENGINE = Engine(PROFILE)
IN_ORDER = Engine(replace(PROFILE, options=replace(PROFILE.options, victim_choice="inOrder")))


class Load(NamedTuple):
    """The running and the pending pods; for the generated trace, in thousandths of all pods."""

    source: str
    running: int
    pending: int


GENERATED = [Load("generated", 370, 120), Load("generated", 800, 120), Load("generated", 957, 43)]
RECORDED = [
    Load("openb_pod_list_default.csv", 7_800, 352),
    Load("openb_pod_list_gpuspec33.csv", 3_000, 100),
]
LOADS = GENERATED + (RECORDED if TRACE.is_dir() else [])
FULL = [load for load in LOADS if load.running in (957, 7_800)]


def snapshot_at(load: Load, folder: Path) -> ClusterSnapshot:
    nodes, pods, scale = TRACE / "openb_node_list_gpu_node.csv", TRACE / load.source, 1.0
    if load.source == "generated":
        nodes, pods, count = write_trace(folder, nodes=60)
        scale = count / 1000
    running, pending = int(load.running * scale), int(load.pending * scale)
    return import_openb(nodes, pods, running=running, pending=pending, engine=ENGINE).snapshot


def evicting_actions(answer: DecideResponse) -> set[str]:
    steps = ((group.action, step) for group in answer.groups for step in group.decisions)
    return {action for action, step in steps if step.HasField("evict")}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("load", LOADS, ids=lambda load: f"{load.source}-{load.running}")
def test_every_response_passes_the_checker_and_a_full_cluster_has_evictions(
    load: Load, tmp_path: Path
) -> None:
    snapshot = snapshot_at(load, tmp_path)
    answer = ENGINE.decide(DecideRequest(snapshot=snapshot)).parse()
    assert verify(snapshot, answer) == []
    if load in FULL:
        # In the generated trace, sets by need free so much that no pod group has to preempt.
        assert evicting_actions(answer) >= {"reclaim", *(() if load in GENERATED else ("preempt",))}
        in_order = IN_ORDER.decide(DecideRequest(snapshot=snapshot)).parse()
        assert verify(snapshot, in_order) == []
        assert evicting_actions(in_order) >= {"reclaim", "preempt"}
        assert any(protection.guard == "minruntime" for protection in answer.protections)
