"""Checks states and responses of a run by their messages alone, with no code of solver or simulator.

Capacity of every node at every instant, gangs that run as a whole, evictions of running pods only, none
before its notice is over, and work conservation: no pod group that would fit on free GPUs is left pending,
unless capacity is reserved.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import DecisionGroup, InFlightGroupState
from tenure.v1.snapshot_pb2 import ClusterSnapshot, Pod, PodStatus, Preemptibility

ON_NODE = (
    PodStatus.POD_STATUS_BOUND,
    PodStatus.POD_STATUS_RUNNING,
    PodStatus.POD_STATUS_RELEASING,
)
ALIVE = ON_NODE[:2]
IN_FLIGHT = InFlightGroupState.IN_FLIGHT_GROUP_STATE_IN_FLIGHT


class RunChecker:
    """Counts what it saw, so that a test can tell that there was something to see."""

    def __init__(self, longest_notice: int = 0) -> None:
        """`longest_notice` is the option maxNotice, in nanoseconds."""
        self.seen: Counter[str] = Counter()
        self._longest_notice = longest_notice
        self._told: dict[str, int] = {}
        """When each pod was told that has an open notice."""

    def check(self, state: ClusterSnapshot, response: DecideResponse) -> list[str]:
        """Everything that is wrong at this cycle."""
        at = state.now.ToJsonString()
        sizes = {shape.id: _gpus(shape) for shape in state.shapes}
        pods = {pod.uid: pod for pod in state.pods}
        problems = [*self._capacity(state, sizes), *self._gangs(state)]
        problems += self._carry_out(state, response, pods, sizes)
        problems += self._notices(state, response, pods)
        problems += self._conservation(state, response, pods, sizes)
        return [f"{at}: {problem}" for problem in problems]

    def _capacity(self, state: ClusterSnapshot, sizes: dict[str, int]) -> Iterator[str]:
        used: Counter[str] = Counter()
        for pod in state.pods:
            if pod.status in ON_NODE:
                used[pod.node] += sizes[pod.shape]
        devices: Counter[tuple[str, str]] = Counter()
        for pod in state.pods:
            if pod.status in ON_NODE and pod.gpu_groups:
                devices[pod.node, pod.gpu_groups[0]] += sizes[pod.shape]
        yield from (f"device {device} is shared {share}" for device, share in devices.items() if share > 1000)
        for node in state.nodes:
            self.seen["full nodes"] += used[node.name] == node.allocatable.gpu_milli
            if used[node.name] > node.allocatable.gpu_milli:
                yield f"node {node.name} has {used[node.name]} of {node.allocatable.gpu_milli}"
            if node.unready_conditions and used[node.name]:
                yield f"node {node.name} is lost and has pods"

    def _gangs(self, state: ClusterSnapshot) -> Iterator[str]:
        """A gang is below its minimum only while pods of it are relocated."""
        alive = Counter(pod.pod_group for pod in state.pods if pod.status in ALIVE)
        moving = {hold.pod_group for flight in state.in_flight_groups for hold in flight.reservations}
        for group in state.pod_groups:
            if group.uid in moving:
                self.seen["relocations"] += 1
            elif 0 < alive[group.uid] < group.min_member:
                yield f"{group.uid} has {alive[group.uid]} of its minimum of {group.min_member}"

    def _carry_out(
        self, state: ClusterSnapshot, response: DecideResponse, pods: dict[str, Pod], sizes: dict[str, int]
    ) -> Iterator[str]:
        groups = {group.uid: group for group in state.pod_groups}
        room = _Room(state, sizes)
        for decision in (decision for group in response.groups for decision in group.decisions):
            kind = decision.WhichOneof("kind")
            if kind == "bind":
                self.seen["binds"] += 1
                pod = pods[decision.bind.pod]
                room.take(decision.bind.node, sizes[pod.shape], decision.bind.gpu_groups)
                if pod.status != PodStatus.POD_STATUS_PENDING:
                    yield f"{pod.uid} is bound and was not pending"
                if room.free[decision.bind.node] < 0:
                    yield f"{pod.uid} is bound to {decision.bind.node}, which has no room"
            elif kind == "evict":
                self.seen["evictions"] += 1
                pod = pods[decision.evict.pod]
                if pod.status not in ALIVE:
                    yield f"{pod.uid} is evicted and does not run"
                if groups[pod.pod_group].preemptibility == Preemptibility.PREEMPTIBILITY_NON_PREEMPTIBLE:
                    yield f"{pod.uid} is evicted and non-preemptible"

    def _notices(
        self, state: ClusterSnapshot, response: DecideResponse, pods: dict[str, Pod]
    ) -> Iterator[str]:
        """Who wants a notice is told, once, and long enough before; who is told later is not forgotten."""
        now = state.now.ToNanoseconds()
        gone = {step.id for step in response.in_flight_group_statuses if step.state > IN_FLIGHT}
        ended = {
            step.pod for flight in state.in_flight_groups if flight.id in gone for step in flight.notices
        }
        told_before = dict(self._told)
        for group in response.groups:
            for decision in group.decisions:
                kind = decision.WhichOneof("kind")
                if kind == "withdraw_notice":
                    self.seen["notices withdrawn"] += 1
                    if self._told.pop(decision.withdraw_notice.pod, None) is None:
                        yield f"the notice of {decision.withdraw_notice.pod} is withdrawn and was not given"
                elif kind == "evict":
                    pod = pods[decision.evict.pod]
                    told, least = self._told.pop(pod.uid, None), self._notice(state, pod.pod_group)
                    if group.action == "stalegangeviction":
                        continue
                    self.seen["evictions after notice"] += told is not None
                    is_early = told is not None and now < told + least
                    self.seen["evictions before the end of a notice"] += is_early
                    if least and (told is None or (is_early and not self._are_ready(state, group))):
                        yield f"{pod.uid} is evicted, told at {told}, and its notice is {least}"
        for group in response.groups:
            for decision in group.decisions:
                if decision.HasField("notify"):
                    step = decision.notify
                    self.seen["notices"] += 1
                    if pods[step.pod].status not in ALIVE:
                        yield f"{step.pod} is told and does not run"
                    if step.pod in told_before and step.pod not in ended:
                        yield f"{step.pod} is told again"
                    if step.evict_time.ToNanoseconds() < now + self._notice(state, step.pod_group):
                        yield f"{step.pod} is told less than its notice before"
                    self._told[step.pod] = now
        for uid in ended & told_before.keys() & self._told.keys():
            if pods.get(uid) is not None and pods[uid].status in ALIVE and self._told[uid] != now:
                yield f"{uid} is told nothing when its notice ends"
        self._told = {
            uid: told for uid, told in self._told.items() if uid in pods and pods[uid].status in ALIVE
        }

    def _are_ready(self, state: ClusterSnapshot, group: DecisionGroup) -> bool:
        """Whether all victims of a group wrote a checkpoint since their notice, as they said they would."""
        victims = {each.evict.pod_group for each in group.decisions if each.HasField("evict")}
        rows = [row for row in state.pod_groups if row.uid in victims]
        return all(
            row.checkpoint_on_notice
            and row.HasField("last_notice_time")
            and row.last_notice_time.ToNanoseconds() <= row.last_checkpoint_time.ToNanoseconds()
            for row in rows
        )

    def _notice(self, state: ClusterSnapshot, uid: str) -> int:
        """How long before its eviction a pod group wants to be told, in nanoseconds."""
        row = next(group for group in state.pod_groups if group.uid == uid)
        queues = {queue.name: queue for queue in state.queues}
        name = row.queue
        while not row.HasField("notice") and name in queues:
            row, name = queues[name], queues[name].parent
        return min(row.notice.ToNanoseconds(), self._longest_notice)

    def _conservation(
        self, state: ClusterSnapshot, response: DecideResponse, pods: dict[str, Pod], sizes: dict[str, int]
    ) -> Iterator[str]:
        """After the decisions, no complete pending gang fits as it is."""
        decisions = [decision for group in response.groups for decision in group.decisions]
        if state.in_flight_groups or any(decision.HasField("reserve") for decision in decisions):
            return
        room = _Room(state, sizes)
        binds = [decision.bind for decision in decisions if decision.HasField("bind")]
        bound = {bind.pod for bind in binds}
        for bind in binds:
            room.take(bind.node, sizes[pods[bind.pod].shape], bind.gpu_groups)
        waiting: dict[str, list[Pod]] = defaultdict(list)
        alive = Counter(pod.pod_group for pod in state.pods if pod.status in ALIVE or pod.uid in bound)
        for pod in state.pods:
            if pod.status == PodStatus.POD_STATUS_PENDING and pod.uid not in bound:
                waiting[pod.pod_group].append(pod)
        for group in state.pod_groups:
            missing = max(group.min_member - alive[group.uid], 1)
            pending = waiting.get(group.uid, [])
            if group.preemptibility != Preemptibility.PREEMPTIBILITY_PREEMPTIBLE or len(pending) < missing:
                continue
            self.seen["pending gangs"] += 1
            size = sizes[pending[0].shape]
            if size >= 1000 and sum(max(free, 0) // size for free in room.free.values()) >= missing:
                yield f"{group.uid} is pending although {missing} pods of {size} fit into {dict(room.free)}"


class _Room:
    """Free GPUs by node, in thousandths. A GPU that is shared is no whole one any more."""

    def __init__(self, state: ClusterSnapshot, sizes: dict[str, int]) -> None:
        self.free = Counter(
            {node.name: node.allocatable.gpu_milli for node in state.nodes if not node.unready_conditions}
        )
        self._shared: set[tuple[str, str]] = set()
        for pod in state.pods:
            if pod.status in ON_NODE:
                self.take(pod.node, sizes[pod.shape], pod.gpu_groups)

    def take(self, node: str, size: int, devices: Sequence[str]) -> None:
        if not devices:
            self.free[node] -= size
        elif (node, devices[0]) not in self._shared:
            self._shared.add((node, devices[0]))
            self.free[node] -= 1000


def _gpus(shape) -> int:
    return shape.gpu.devices * (shape.gpu.portion_milli or 1000)
