"""A caller that keeps in-flight groups with notices, as adapters do."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.duration_pb2 import Duration
from tenure.client.in_flight import retain_in_flight, track_group
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse

from tests.requirements.answers import decisions
from tests.requirements.cluster import ClusterText, seconds
from tests.requirements.cluster_life import store
from tests.requirements.conftest import Decide

NOTICES: Final = "options: {maxNotice: 1h}\n"
ACTIONS: Final = ("allocate", "consolidation", "reclaim", "preempt")


class Caller:
    """Decides cycle by cycle. Evicted pods terminate within their cycle, and wait again."""

    def __init__(
        self,
        cluster: ClusterText,
        decide: Decide,
        configuration: str = NOTICES,
        actions: Sequence[str] = ACTIONS,
    ) -> None:
        self.cluster, self._decide, self._configuration = cluster, decide, configuration
        self._actions = actions

    @property
    def clock(self) -> int:
        """Seconds since the first cycle began, as in the snapshot."""
        return self.cluster.snapshot.now.seconds

    def cycle(self, later: str = "0s") -> DecideResponse:
        """One cycle, its decisions carried out, and time that passes after it."""
        snapshot = self.cluster.snapshot
        answer = self._decide(self.cluster, self._configuration, *self._actions)
        kept = retain_in_flight(list(snapshot.in_flight_groups), answer)
        kept += [track_group(group) for group in answer.groups]
        del snapshot.in_flight_groups[:]
        snapshot.in_flight_groups.extend(
            group for group in kept if group.evictions or group.reservations or group.notices
        )
        pods = {pod.uid: pod for pod in snapshot.pods}
        for each in decisions(answer):
            kind = each.WhichOneof("kind")
            if kind == "bind":
                pods[each.bind.pod].status, pods[each.bind.pod].node = pb.POD_STATUS_RUNNING, each.bind.node
            elif kind == "evict":
                pods[each.evict.pod].status, pods[each.evict.pod].node = pb.POD_STATUS_PENDING, ""
            elif kind == "patch":
                store(self.cluster, each.patch)
        for group in snapshot.in_flight_groups:
            del group.evictions[:]
        states = {state.name: state for state in snapshot.eviction_rates}
        states.update((each.set_eviction_rate.name, each.set_eviction_rate) for each in answer.state_patches)
        del snapshot.eviction_rates[:]
        snapshot.eviction_rates.extend(states.values())
        snapshot.version += 1
        snapshot.now.seconds += seconds(later)
        return answer


def notice(cluster: ClusterText, name: str, duration: str) -> ClusterText:
    """Set the notice of a pod group."""
    cluster.group(name).notice.CopyFrom(Duration(seconds=seconds(duration)))
    return cluster


def one_gpu(**more: object) -> ClusterText:
    """`v` runs on the only GPU, and `p` wants it."""
    cluster = ClusterText().node().queue("q").runs("v", "q", **more).waits("p", "q", priority=75)
    cluster.group("v").termination_grace.CopyFrom(Duration(seconds=30))
    return notice(cluster, "v", "2m")


def told(answer: DecideResponse) -> list[str]:
    """Uids of the pods that are given notice, in order."""
    return sorted(each.notify.pod for each in decisions(answer) if each.HasField("notify"))


def withdrawn(answer: DecideResponse) -> list[str]:
    """Uids of the pods whose notices are withdrawn, in order."""
    found = [each.withdraw_notice.pod for each in decisions(answer) if each.HasField("withdraw_notice")]
    return sorted(found)
