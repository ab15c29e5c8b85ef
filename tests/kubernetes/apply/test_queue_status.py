"""The status of queues: what is written, when, and what other writers wrote."""

from typing import Any

import pytest
from tenure.kubernetes.api.transport import LeaderTransport, Transport
from tenure.kubernetes.apply import queue_status_writer
from tenure.kubernetes.apply.queue_status import resource_list
from tenure.kubernetes.apply.queue_status_writer import QueueStatusWriter
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.v1.decide_pb2 import QueueStatus, ResourceShare

from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedApiServer, ScriptedResponse
from tests.kubernetes.observe.cached_cluster import CONFIG, NOW, CachedCluster, queue

_GIB = 2**30


def share(gpus: int, cpu_milli: int = 0, memory: int = 0) -> ResourceShare:
    return ResourceShare(cpu_milli=cpu_milli, memory_bytes=memory, gpu_milli=1000 * gpus)


def of(name: str, fair: int, allocated: int, requested: int) -> QueueStatus:
    after = share(100)
    return QueueStatus(
        name=name,
        fair_share=share(fair),
        allocated_before=share(allocated),
        allocated_after=after,
        requested=share(requested),
    )


class QueueRig:
    """Queues on an API server, which keeps the status that is written."""

    def __init__(self, served: tuple[ScriptedApiServer, Transport], scope: SnapshotScope = CONFIG) -> None:
        self.server, transport = served
        self.server.rules.append(self._respond)
        self.statuses: dict[str, dict[str, Any]] = {}
        self.world = CachedCluster()
        self.world.put("kai_queues", queue("dept"))
        self.world.put("kai_queues", queue("team", parentQueue="dept"))
        self.scope = scope
        self._writer = QueueStatusWriter(LeaderTransport(transport, lambda: True))

    def write(self, *statuses: QueueStatus) -> list[str]:
        """Report, write what is due, and return the names of the queues that were written."""
        builder = self.world.builder(self.scope)
        builder.snapshot(NOW)
        before = len(self.server.writes())
        self._writer.report(builder.queue_objects(), statuses)
        self._writer.write_due(self._attempt)
        return [write.split("/")[-2] for write in self.server.writes()[before:]]

    def conditions(self, name: str) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message of the conditions of a queue, by type."""
        found = self.statuses[name]["conditions"]
        return {one["type"]: (one["status"], one["reason"], one["message"]) for one in found}

    def _attempt(self, write: Any) -> bool:
        write()
        return True

    def _respond(self, call: RecordedCall) -> ScriptedResponse:
        api, _, name = call.path.removesuffix("/status").partition("/queues/")
        if call.method == "PATCH":
            self.statuses[name] = call.body["status"]
            return ScriptedResponse(200)
        collection = "kai_queues" if "run.ai" in api else "volcano_queues"
        meta = {"uid": f"{collection}-{name}", "resourceVersion": "7"}
        return ScriptedResponse(200, {"metadata": meta, "status": self.statuses.get(name, {})})


@pytest.fixture
def rig(scripted_server: tuple[ScriptedApiServer, Transport], monkeypatch: pytest.MonkeyPatch) -> QueueRig:
    monkeypatch.setattr(queue_status_writer, "QUIET_SECONDS", 0.0)
    return QueueRig(scripted_server)


BOTH = (of("dept", 4, 2, 6), of("team", 4, 2, 6))


def test_status_has_amounts_children_and_the_fair_share(rig: QueueRig) -> None:
    assert sorted(rig.write(*BOTH)) == ["dept", "team"]
    dept = rig.statuses["dept"]
    assert dept["allocated"] == {"cpu": "0", "memory": "0", "nvidia.com/gpu": "2"}
    assert dept["requested"]["nvidia.com/gpu"] == "6"
    assert (dept["childQueues"], rig.statuses["team"]["childQueues"]) == (["team"], [])
    assert rig.conditions("team") == {
        "Ready": ("True", "Scheduling", "Pod groups of this queue are scheduled."),
        "WithinFairShare": ("True", "WithinFairShare", "Fair share: cpu=0, memory=0, nvidia.com/gpu=4."),
    }


def test_queue_above_its_fair_share_says_of_what(rig: QueueRig) -> None:
    rig.write(of("dept", 4, 6, 6), of("team", 4, 2, 2))
    status, reason, message = rig.conditions("dept")["WithinFairShare"]
    assert (status, reason) == ("False", "AboveFairShare")
    assert message == "Fair share: cpu=0, memory=0, nvidia.com/gpu=4. Above it: nvidia.com/gpu."


def test_unchanged_status_is_written_once_and_a_changed_one_again(rig: QueueRig) -> None:
    rig.write(*BOTH)
    assert rig.write(*BOTH) == []
    assert rig.write(of("dept", 4, 2, 6), of("team", 4, 1, 6)) == ["team"]


def test_status_that_the_object_has_already_is_not_written(rig: QueueRig) -> None:
    rig.write(*BOTH)
    rig._writer._written.clear()
    assert rig.write(*BOTH) == []


def test_changes_within_the_quiet_time_are_one_write(rig: QueueRig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.write(*BOTH)
    monkeypatch.setattr(queue_status_writer, "QUIET_SECONDS", 3600.0)
    assert rig.write(of("dept", 4, 3, 6), of("team", 4, 2, 6)) == []
    assert rig.write(*BOTH) == []
    monkeypatch.setattr(queue_status_writer, "QUIET_SECONDS", 0.0)
    assert rig.write(*BOTH) == []


def test_condition_keeps_its_time_while_its_status_does_not_change(rig: QueueRig) -> None:
    rig.write(*BOTH)
    for condition in rig.statuses["team"]["conditions"]:
        condition["lastTransitionTime"] = "2027-01-01T00:00:00Z"
    rig.statuses["team"]["conditions"].append({"type": "Other", "status": "True"})
    rig.write(of("dept", 4, 2, 6), of("team", 1, 2, 6))
    times = {one["type"]: one.get("lastTransitionTime") for one in rig.statuses["team"]["conditions"]}
    assert times["Ready"] == "2027-01-01T00:00:00Z"
    assert times["WithinFairShare"] > "2026"
    assert times["WithinFairShare"] != times["Ready"]
    assert "Other" in times


@pytest.mark.parametrize("parent", ["nowhere", "lost"])
def test_queue_without_a_path_to_the_top_is_not_ready(rig: QueueRig, parent: str) -> None:
    rig.world.put("kai_queues", queue("lost", parentQueue=parent))
    rig.write(*BOTH)
    message = "Its parent does not exist, or is part of a cycle."
    assert rig.conditions("lost") == {"Ready": ("False", "NoPathToTop", message)}


def test_queue_of_another_node_pool_is_left_alone(
    scripted_server: tuple[ScriptedApiServer, Transport],
) -> None:
    rig = QueueRig(scripted_server, SnapshotScope(cluster_id="test", node_pool="gpu"))
    rig.world.put("volcano_queues", queue("of-volcano"))
    assert rig.write(*BOTH) == []


def test_volcano_queue_has_its_allocated_amounts_only(rig: QueueRig) -> None:
    rig.world.put("volcano_queues", queue("v"))
    rig.write(*BOTH, of("v", 4, 2, 6))
    assert rig.statuses["v"] == {"allocated": {"cpu": "0", "memory": "0", "nvidia.com/gpu": "2"}}


@pytest.mark.parametrize(
    ("amounts", "texts"),
    [
        (share(2, 4000, 8 * _GIB), ("4", "8Gi", "2")),
        (
            ResourceShare(cpu_milli=1500, memory_bytes=1_000_000_000, gpu_milli=500),
            ("1500m", "1000000000", "500m"),
        ),
        (ResourceShare(memory_bytes=1536 * 2**20), ("0", "1536Mi", "0")),
    ],
)
def test_amounts_are_quantities(amounts: ResourceShare, texts: tuple[str, str, str]) -> None:
    assert tuple(resource_list(amounts).values()) == texts
