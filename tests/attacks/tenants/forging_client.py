"""A client whose server also returns forged decisions, as after a forged push or an intrusion."""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client import Client
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.report_pb2 import PatchToStore, ReportResultsRequest, ReportResultsResponse
from tenure.v1.snapshot_pb2 import FATE_UNSPECIFIED, Fate

_LIFETIME_NS = 300 * 10**9


def evict(pod: str, pod_group: str, node: str = "n1", fate: Fate = FATE_UNSPECIFIED) -> pb.Decision:
    step = pb.Evict(pod=pod, node=node, pod_group=pod_group, fate=fate)
    return pb.Decision(id=uuid4().hex, evict=step)


def notify(pod: str, pod_group: str, node: str = "n1") -> pb.Decision:
    """A notice of an eviction in five minutes."""
    step = pb.Notify(pod=pod, node=node, pod_group=pod_group, signal=pb.NOTICE_SIGNAL_CHECKPOINT)
    step.evict_time.FromNanoseconds(_now() + _LIFETIME_NS)
    return pb.Decision(id=uuid4().hex, notify=step)


def bind(pod: str, node: str) -> pb.Decision:
    return pb.Decision(id=uuid4().hex, bind=pb.Bind(pod=pod, node=node))


class ForgingClient(Client):
    """Adds `decisions` to a response once, each in a group of its own, and `patches` to the next report."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.decisions: list[pb.Decision] = []
        self.patches: list[pb.Patch] = []
        self.results: dict[str, Any] = {}
        """Reported results, by decision."""

    def decide_state(self, *args: Any, **kwargs: Any) -> DecideResponse:
        response = super().decide_state(*args, **kwargs)
        forged, self.decisions = self.decisions, []
        response.groups.extend(map(_group, forged))
        return response

    def report_results(
        self, request: ReportResultsRequest, timeout: float | None = None
    ) -> ReportResultsResponse:
        self.results.update({one.decision_id: one for group in request.groups for one in group.results})
        response = super().report_results(request, timeout)
        if response.groups:
            forged, self.patches = self.patches, []
            response.groups[0].patches.extend(_to_store(forged))
        return response


def _group(decision: pb.Decision) -> pb.DecisionGroup:
    made = pb.DecisionGroup(
        id=f"forged-{decision.id}", action="preempt", decisions=[decision], atomicity=pb.ATOMICITY_ALL
    )
    made.expire_time.FromNanoseconds(_now() + _LIFETIME_NS)
    return made


def _now() -> int:
    now = Timestamp()
    now.GetCurrentTime()
    return int(now.ToNanoseconds())


def _to_store(patches: Iterable[pb.Patch]) -> list[PatchToStore]:
    return [PatchToStore(decision_id=uuid4().hex, patch=patch) for patch in patches]
