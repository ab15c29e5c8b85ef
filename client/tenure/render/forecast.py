"""What a response says about a pod group that was asked about before it exists."""

from collections.abc import Container
from typing import NamedTuple

from tenure.render.workload import SOON
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse


class LostPod(NamedTuple):
    """A pod that would be evicted."""

    pod_group: str
    pod: str
    action: str
    evict_time: int = 0
    """When its notice ends, in nanoseconds; 0: it is evicted at once."""
    is_relocated: bool = False


class Forecast(NamedTuple):
    """What would happen to a pod group."""

    outcome: pb.PodGroupOutcome
    nodes: tuple[str, ...]
    """One for each of its pods that start or have capacity reserved, in order."""
    losses: tuple[LostPod, ...]
    """Pods that would be evicted for it, in the order of the decisions."""

    @property
    def starts(self) -> str:
        """`now`, `later` (when other pods have terminated) or `no`."""
        kind = self.outcome.kind
        return "now" if kind == pb.OUTCOME_KIND_BOUND else "later" if kind in SOON else "no"


def forecast(response: DecideResponse, pod_group: str, pods: Container[str]) -> Forecast:
    """The forecast of a pod group with these pods; all by uid."""
    outcome = next((each for each in response.outcomes if each.pod_group == pod_group), pb.PodGroupOutcome())
    nodes: list[str] = []
    losses: list[LostPod] = []
    for group in response.groups:
        for decision in group.decisions if group.beneficiary == pod_group else ():
            match decision.WhichOneof("kind"):
                case "bind" if decision.bind.pod in pods:
                    nodes.append(decision.bind.node)
                case "reserve" if decision.reserve.pod in pods:
                    nodes.append(decision.reserve.node)
                case "evict":
                    evict = decision.evict
                    losses.append(
                        LostPod(evict.pod_group, evict.pod, group.action, is_relocated=evict.relocating)
                    )
                case "notify":
                    notice, end = decision.notify, decision.notify.evict_time.ToNanoseconds()
                    losses.append(LostPod(notice.pod_group, notice.pod, group.action, end))
    return Forecast(outcome, tuple(sorted(nodes)), tuple(losses))
