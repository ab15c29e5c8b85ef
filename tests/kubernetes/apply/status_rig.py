"""A pending pod group, and what a status writer writes for it."""

from typing import Any

import pytest
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply import status_writer
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.status_writer import StatusWriter
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.explain_pb2 import StartEstimate

from tests.kubernetes.apply.decision_groups import IDENTITY, NOW
from tests.kubernetes.apply.scripted_api_server import RecordedCall, ScriptedApiServer, ScriptedResponse
from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    CachedCluster,
    member,
    pod,
    pod_group,
    queue,
)

Served = tuple[ScriptedApiServer, Transport]
GROUP = "/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/job"


def outcome(kind: str, code: str, message: str = "why") -> pb.PodGroupOutcome:
    return pb.PodGroupOutcome(
        pod_group="uid-job",
        kind=f"OUTCOME_KIND_{kind}",
        reason=pb.Reason(code=f"REASON_CODE_{code}", message=message),
    )


class StatusRig:
    """A pending pod group, and the statuses written for it."""

    def __init__(self, served: Served, patched: pytest.MonkeyPatch, scope: SnapshotScope = CONFIG) -> None:
        self.server, transport = served
        self.patched = patched
        self.world = world = CachedCluster()
        world.put("kai_queues", queue("q"))
        world.put("kai_pod_groups", pod_group("job", minMember=1))
        world.put("pods", pod("p", meta=member("job")))
        self.picture = world.builder(scope)
        self.picture.snapshot(NOW)
        self.uid = next(row.uid for row in self.picture.snapshot(NOW).pod_groups)
        self.status: dict[str, Any] = {}
        self.server.rules.append(self._respond)
        self.leads = True
        ownership = Ownership(world.mirrors, self.picture, "kai-scheduler")
        self.writer = StatusWriter(
            transport, world.mirrors, self.picture, ownership, lambda: self.leads, IDENTITY
        )

    def _respond(self, call: RecordedCall) -> ScriptedResponse:
        if call.method == "GET" and call.path == GROUP:
            meta = {"uid": self.uid, "resourceVersion": "7"}
            return ScriptedResponse(200, {"metadata": meta, "status": self.status})
        if call.path == f"{GROUP}/status":
            self.status = call.body["status"]
        return ScriptedResponse(200)

    def assert_no_writes(self, seconds: float) -> None:
        self.patched.setattr(status_writer, "QUIET_SECONDS", seconds)

    def write_status(
        self,
        kind: str,
        code: str,
        message: str = "why",
        estimate: StartEstimate | None = None,
        hours: int = 0,
    ) -> list[str]:
        """Write the status of an outcome, so many hours later, with a response that tells its start; return
        the writes.
        """
        before = len(self.server.writes())
        pod_group_outcome = outcome(kind, code, message)
        pod_group_outcome.pod_group = self.uid
        response = DecideResponse(
            outcomes=[pod_group_outcome], header={"now": {"seconds": NOW.seconds + hours * 3_600}}
        )
        if estimate is not None:
            response.start_estimates.add(pod_group=self.uid).MergeFrom(estimate)
        self.writer.report(response, [])
        self.writer.write_due()
        return [write.rpartition("/")[2] for write in self.server.writes()[before:]]

    def bind(self) -> None:
        """The API server bound the pod; the object cache follows later."""
        self.world.mirrors.bound_to["uid-p"] = "n"

    def start(self) -> list[str]:
        """Bind the pod and report it; return the writes."""
        self.bind()
        return self.write_status("BOUND", "ALLOCATED")

    def set_aside(self) -> list[str]:
        """Observe changes and write what is set aside; return the writes."""
        before = len(self.server.writes())
        self.picture.delta(NOW)
        self.writer.report_set_aside(self.picture.set_aside.take_new())
        self.writer.write_due()
        return [write.rpartition("/")[2] for write in self.server.writes()[before:]]

    @property
    def conditions(self) -> list[dict[str, Any]]:
        return list(self.status["schedulingConditions"])
