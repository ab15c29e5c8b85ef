"""Notices on a real API server: a job that saves its work when it is told loses seconds, not an hour."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tenure.client.client import Client
from tenure.kubernetes.api.transport import MERGE_PATCH
from tenure.v1 import decision_pb2 as pb
from tenure.v1.cycles_pb2 import ListCyclesRequest

from tests.e2e.kubernetes.conftest import Adapter
from tests.e2e.kubernetes.installation.installation import Installation
from tests.e2e.kubernetes.installation.test_permissions import denied_writes, run_container_adapter
from tests.kubernetes.adapter_process import adapter_arguments, run_adapter
from tests.kubernetes.cluster import UserCluster, is_bound, wait_until
from tests.kubernetes.environment.audit_log import AuditLog
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP
from tests.server.servers import run_server_process

pytestmark = pytest.mark.kube

CONFIGURATION: Final = "options: {maxNotice: 1h}\nplugins: {evictioncost: true}\n"
NOTICE: Final = "15s"
"""Long enough to read it, and for another adapter to lead, on a slow machine."""
GRACE: Final = 5
GPUS: Final = 4
HOUR: Final = 3_600
EVICT_TIME: Final = "tenure.scheduler/evict-time"
CHECKPOINT: Final = "tenure.scheduler/last-checkpoint-time"


@pytest.fixture(scope="module")
def noticing_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose profile permits notices and knows what evictions cost."""
    file = tmp_path_factory.mktemp("profile") / "tenure.yaml"
    file.write_text(CONFIGURATION)
    with run_server_process("--config", str(file)) as (_, address):
        yield address


@pytest.fixture
def noticing(plane: ControlPlane, noticing_server: str, cluster: UserCluster, tmp_path: Path) -> Adapter:
    flags = adapter_arguments(plane, noticing_server, cluster.namespace)
    return partial(run_adapter, tmp_path / "adapter.log", *flags)


class TrainingJob:
    """A pod group of one pod, and what its program does: the test plays it."""

    def __init__(self, cluster: UserCluster, notice: str = NOTICE, **more: str) -> None:
        """`more` are other annotations of Tenure, with underscores."""
        name = "train"
        self._cluster, self.name, self.pod_name = cluster, name, f"{name}-0"
        said = {"notice": notice, **more}
        asked = {f"tenure.scheduler/{key.replace('_', '-')}": value for key, value in said.items()}
        cluster.workload(name, pods=0, gpus=GPUS, annotations=asked, minMember=1)
        meta = {"annotations": {"pod-group-name": name}, "labels": {"app": name}}
        cluster.pod(self.pod_name, GPUS * 2, spec={"terminationGracePeriodSeconds": GRACE}, **meta)

    def has_run_for(self, span: timedelta) -> None:
        """Wait until it runs, and say by the kubelet that it has for so long."""
        wait_until(lambda: self._cluster.running(self.name) == 1)
        status = {"status": {"startTime": text(datetime.now(UTC) - span)}}
        path = f"{self._cluster.pods_path}/{self.pod_name}/status"
        self._cluster.transport.patch(path, status, MERGE_PATCH)

    @property
    def pod(self) -> dict[str, Any]:
        """Its pod; empty: it is gone."""
        return self._cluster.pods(self.name).get(self.pod_name, {})

    def terminating(self) -> dict[str, Any]:
        """Metadata of its pod, if that terminates; else empty."""
        found: dict[str, Any] = self.pod["metadata"]
        return found if "deletionTimestamp" in found else {}

    def notice(self) -> str:
        """When it is to be evicted, as its pod can read it; "": it was not told."""
        found: str = self.pod["metadata"].get("annotations", {}).get(EVICT_TIME, "")
        return found

    def condition(self) -> dict[str, Any]:
        """The condition of the notice; empty: there is none."""
        conditions = self.pod["status"].get("conditions", [])
        return next((one for one in conditions if one["type"] == "tenure.scheduler/EvictionNotice"), {})

    def save_work(self) -> datetime:
        """Write a checkpoint, and say so on its pod group."""
        now = datetime.now(UTC)
        change = {"metadata": {"annotations": {CHECKPOINT: text(now)}}}
        self._cluster.transport.patch(f"{self._cluster.path(KAI_POD_GROUP)}/{self.name}", change, MERGE_PATCH)
        return now


def bound_at(pod: dict[str, Any]) -> datetime:
    """When a pod was bound."""
    (found,) = [one for one in pod["status"]["conditions"] if one["type"] == "PodScheduled"]
    return datetime.fromisoformat(found["lastTransitionTime"])


def text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def evictions(server: str, cluster_id: str) -> list[pb.DecisionGroup]:
    """Decision groups with evictions, of the recent cycles of a cluster."""
    with Client(server) as client:
        cycles = client.list_cycles(ListCyclesRequest(cluster_id=cluster_id)).cycles
    groups = [group for cycle in cycles for group in cycle.response.groups]
    return [group for group in groups if any(each.HasField("evict") for each in group.decisions)]


@pytest.mark.parametrize("saves", [True, False], ids=["saves its work", "does not"])
def test_job_that_saves_its_work_on_notice_loses_seconds_and_another_one_an_hour(
    cluster: UserCluster, noticing: Adapter, noticing_server: str, saves: bool
) -> None:
    with noticing():
        job = TrainingJob(cluster)
        job.has_run_for(timedelta(hours=2))
        cluster.wait_for_annotations(job.name, "last-start-timestamp")
        told_after = datetime.now(UTC)
        cluster.workload("urgent", pods=1, gpus=GPUS * 2, priority="high")
        evict_time = datetime.fromisoformat(wait_until(job.notice))
        assert evict_time >= told_after + timedelta(seconds=14)
        assert wait_until(job.condition)["status"] == "True"
        assert wait_until(lambda: cluster.events("EvictionNotice")) == [job.pod_name]
        assert is_bound(job.pod)
        saved_at = job.save_work() if saves else None
    assert is_bound(job.pod)
    with noticing():  # the one before was killed between notice and eviction
        terminating = wait_until(job.terminating)
        ends = datetime.fromisoformat(terminating["deletionTimestamp"])
        assert terminating["deletionGracePeriodSeconds"] == GRACE
        assert ends - timedelta(seconds=GRACE) >= evict_time - timedelta(seconds=1)
        wait_until(lambda: cluster.running("urgent") == 1)
        assert bound_at(cluster.pods("urgent")["urgent-0"]) >= ends - timedelta(seconds=1)
        assert wait_until(lambda: cluster.events("Evicted")) == [job.pod_name]
        noted = cluster.wait_for_annotations(job.name, "eviction-count", "last-notice-timestamp")
        assert noted["eviction-count"] == "1"
    (group,) = evictions(noticing_server, cluster.namespace)
    (victim,) = group.victim_set.victim_costs
    lost = victim.lost / (GPUS * 2)
    if saved_at is None:
        assert lost == HOUR
    else:
        assert lost <= (ends - saved_at).total_seconds() + 1 < 60
    (step,) = [each.evict for each in group.decisions if each.HasField("evict")]
    assert step.grace_period.seconds == GRACE


def test_notice_whose_reason_goes_away_is_taken_back(cluster: UserCluster, noticing: Adapter) -> None:
    with noticing():
        job = TrainingJob(cluster)
        job.has_run_for(timedelta(hours=2))
        cluster.workload("urgent", pods=1, gpus=GPUS * 2, priority="high")
        wait_until(job.notice)
        wait_until(job.condition)
    cluster.end("urgent")
    with noticing():
        wait_until(lambda: not job.notice() and not job.condition())
        assert wait_until(lambda: cluster.events("EvictionNoticeWithdrawn")) == [job.pod_name]
        assert is_bound(job.pod)
        assert "eviction-count" not in cluster.annotations_of(job.name)


def test_job_that_says_that_it_saved_its_work_is_evicted_before_its_notice_is_over(
    cluster: UserCluster, noticing: Adapter
) -> None:
    with noticing():
        job = TrainingJob(cluster, notice="30m", checkpoint_on_notice="true")
        job.has_run_for(timedelta(hours=2))
        cluster.workload("urgent", pods=1, gpus=GPUS * 2, priority="high")
        evict_time = datetime.fromisoformat(wait_until(job.notice))
        cluster.wait_for_annotations(job.name, "last-notice-timestamp")
        assert is_bound(job.pod)
        assert job.save_work() < evict_time - timedelta(minutes=28)
        wait_until(lambda: cluster.running("urgent") == 1)
        assert wait_until(lambda: cluster.events("Evicted")) == [job.pod_name]


def test_owner_of_a_pod_group_that_asks_for_too_long_a_notice_reads_it(
    cluster: UserCluster, noticing: Adapter
) -> None:
    with noticing():
        job = TrainingJob(cluster, notice="90m")
        assert wait_until(lambda: cluster.events("NoticeAboveMaximum")) == [job.name]
        (note,) = cluster.event_notes("NoticeAboveMaximum")
        assert note == "Its notice of 1h30m counts as 1h, the longest permitted."


def test_notice_of_a_lost_journal_is_taken_back(cluster: UserCluster, noticing: Adapter) -> None:
    journal = f"/api/v1/namespaces/{cluster.namespace}/configmaps/tenure-journal"
    with noticing():
        job = TrainingJob(cluster, notice="30m")
        job.has_run_for(timedelta(hours=2))
        cluster.workload("urgent", pods=1, gpus=GPUS * 2, priority="high")
        wait_until(job.notice)
        wait_until(job.condition)
    cluster.transport.delete(journal)
    cluster.end("urgent")
    with noticing():
        wait_until(lambda: not job.notice() and not job.condition())
        assert wait_until(lambda: cluster.events("EvictionNoticeWithdrawn")) == [job.pod_name]
        assert is_bound(job.pod)


@pytest.mark.usefixtures("as_adapter")
def test_permissions_and_policies_of_the_chart_suffice_for_notices(
    cluster: UserCluster, installation: Installation, noticing_server: str, audit: AuditLog, tmp_path: Path
) -> None:
    with run_container_adapter(installation, noticing_server, tmp_path):
        job = TrainingJob(cluster, notice="90m")
        job.has_run_for(timedelta(hours=2))
        cluster.workload("urgent", pods=1, gpus=GPUS * 2, priority="high")
        wait_until(job.notice)
        cluster.wait_for_annotations(job.name, "last-notice-timestamp")
        assert wait_until(lambda: cluster.events("NoticeAboveMaximum")) == [job.name]
        cluster.end("urgent")
        wait_until(lambda: not job.notice() and not job.condition())
        assert wait_until(lambda: cluster.events("EvictionNoticeWithdrawn")) == [job.pod_name]
    assert denied_writes(audit, installation) == []
