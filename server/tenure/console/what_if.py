"""The page What if: a workload that a person describes, simulated on the newest state."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.console.view import WHOLE_GPU, View
from tenure.render.forecast import Forecast, LostPod, forecast
from tenure.terms.durations import parse_duration
from tenure.terms.preemptibility import SPELLINGS, Preemptibility
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import POD_STATUS_PENDING

MAX_PODS: Final = 10_000
_UID: Final = "what-if"
_MEANINGS: Final = {
    Preemptibility.PREEMPTIBLE: (
        "May be evicted for others, after its minimum runtime. May use more than the quota of its queue."
    ),
    Preemptibility.SEMI_PREEMPTIBLE: (
        "Its minimum runs to completion and stays within the quota. Pods beyond the minimum may be evicted."
    ),
    Preemptibility.NON_PREEMPTIBLE: (
        "Runs to completion once started. Must stay within the quota of its queue."
    ),
}
MODES: Final = {
    mode.name.partition("_")[0].lower(): (f"PREEMPTIBILITY_{mode.name}", SPELLINGS[mode], meaning)
    for mode, meaning in _MEANINGS.items()
}
"""Choices of the form: value of the contract, label, and meaning."""


@dataclass(frozen=True)
class Form:
    """Texts of the form as the person wrote them."""

    name: str = "my-workload"
    queue: str = ""
    pods: str = "1"
    minimum: str = ""
    gpus: str = "1"
    cpus: str = "0"
    priority: str = "50"
    mode: str = "preemptible"
    min_runtime: str = ""
    expected_runtime: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Form":
        """The form with the values of a URL."""
        return cls(**{key: query[key][:300] for key in cls.__dataclass_fields__ if key in query})


class InvalidForm(Exception):
    """Fields that cannot be used, with what to write instead."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems.values()))


class Loss(NamedTuple):
    """A pod group whose pods are evicted for the workload."""

    uid: str
    name: str
    queue: str
    pods: int
    gpus: int
    action: str
    returns: str
    """What becomes of it next."""
    evict_time: int = 0
    """When its notice ends, in nanoseconds; 0: its pods are evicted at once."""


class QueueChange(NamedTuple):
    """GPUs of a leaf queue before and after, and its quota."""

    name: str
    quota: int
    before: int
    after: int


@dataclass(frozen=True)
class Answer:
    """What would happen."""

    kind: int
    """OutcomeKind."""
    headline: str
    reason: pb.Reason
    losses: Sequence[Loss]
    changes: Sequence[QueueChange]
    nodes: Sequence[tuple[str, int]]
    """Nodes and numbers of pods."""
    version: int
    valid_until: int
    """Next wake time; 0: none."""
    evict_time: int
    """When notices for it end, so that it starts after that; 0: none is given."""


def request_of(view: View, form: Form) -> SimulateRequest:
    """The simulation of a form. Raises InvalidForm."""
    problems: dict[str, str] = {}
    pods = _whole(form.pods, "pods", 1, MAX_PODS, problems)
    minimum = _whole(form.minimum or form.pods, "minimum", 1, MAX_PODS, problems)
    priority = _whole(form.priority, "priority", -(2**31), 2**31 - 1, problems)
    gpus = _gpus(form.gpus, problems)
    cpus = _amount(form.cpus or "0", "cpus", problems)
    parents = {queue.parent for queue in view.snapshot.queues}
    if form.queue not in view.queues or form.queue in parents:
        problems["queue"] = "Choose a queue."
    if form.mode not in MODES:
        problems["mode"] = "Choose one of the three."
    if minimum > pods and "pods" not in problems and "minimum" not in problems:
        problems["minimum"] = f"At most the number of pods, {pods}."
    durations = {
        field: _duration(getattr(form, field), field, problems)
        for field in ("min_runtime", "expected_runtime")
    }
    if problems:
        raise InvalidForm(problems)
    taken = {group.uid for group in view.snapshot.pod_groups} | {pod.uid for pod in view.snapshot.pods}
    uid = next(each for each in (_UID, *(f"{_UID}-{i}" for i in range(10**6))) if each not in taken)
    request = SimulateRequest(state=view.state, cycles=1)
    group = request.upserts.pod_groups.add(
        uid=uid,
        name=form.name or uid,
        queue=form.queue,
        priority=priority,
        preemptibility=MODES[form.mode][0],
        min_member=minimum,
    )
    group.creation_time.FromNanoseconds(view.snapshot.now.ToNanoseconds())
    for field, nanoseconds in durations.items():
        if nanoseconds is not None:
            getattr(group, field).FromNanoseconds(nanoseconds)
    shape = request.upserts.shapes.add(id=f"{uid} shape")
    shape.requests.cpu_milli = round(cpus * 1000)
    if 0 < gpus < WHOLE_GPU:
        shape.gpu.devices, shape.gpu.portion_milli = 1, gpus
    elif gpus:
        shape.gpu.devices = gpus // WHOLE_GPU
    for number in range(pods):
        pod = request.upserts.pods.add(
            uid=f"{uid} {number}", pod_group=uid, shape=shape.id, status=POD_STATUS_PENDING
        )
        pod.creation_time.CopyFrom(group.creation_time)
    return request


def answer_of(view: View, request: SimulateRequest, response: DecideResponse) -> Answer:
    """What the simulated cycle means for the workload of the request."""
    uid = request.upserts.pod_groups[0].uid
    found = forecast(response, uid, {pod.uid for pod in request.upserts.pods})
    losses, outcome = _losses(view, found, response), found.outcome
    pods = sum(loss.pods for loss in losses)
    return Answer(
        evict_time=max((loss.evict_time for loss in losses), default=0),
        kind=outcome.kind,
        headline=_headline(outcome, pods),
        reason=outcome.reason,
        losses=losses,
        changes=_changes(view, response),
        nodes=sorted(Counter(found.nodes).items()),
        version=response.header.version,
        valid_until=response.next_wake_time.ToNanoseconds(),
    )


def _headline(outcome: pb.PodGroupOutcome, evicted: int) -> str:
    pods = f"{evicted} {'pod' if evicted == 1 else 'pods'}"
    match outcome.kind:
        case pb.OUTCOME_KIND_BOUND if outcome.pending or outcome.reserved:
            return (
                f"{outcome.bound} of {outcome.bound + outcome.reserved + outcome.pending} pods start at once."
            )
        case pb.OUTCOME_KIND_BOUND:
            return "It starts at once, on free capacity."
        case pb.OUTCOME_KIND_WAITING_FOR_VICTIMS if evicted:
            return f"It starts when {pods} of others have terminated."
        case pb.OUTCOME_KIND_WAITING_FOR_VICTIMS | pb.OUTCOME_KIND_WAITING_FOR_RELEASE:
            return "It starts when pods that already terminate are gone."
        case pb.OUTCOME_KIND_DELAYED:
            return "It waits for a time that is known."
        case pb.OUTCOME_KIND_WAITING_FOR_QUOTA:
            return "It waits: a quota or a limit does not permit it."
        case pb.OUTCOME_KIND_INFEASIBLE | pb.OUTCOME_KIND_INVALID_POD_GROUP:
            return "It cannot start on this cluster."
        case pb.OUTCOME_KIND_BUDGET_EXHAUSTED:
            return "Not known: the search ended before it was complete."
    return "It waits for capacity."


def _losses(view: View, found: Forecast, response: DecideResponse) -> list[Loss]:
    evicted: dict[str, list[LostPod]] = defaultdict(list)
    for lost in found.losses:
        evicted[lost.pod_group].append(lost)
    outcomes = {outcome.pod_group: outcome for outcome in response.outcomes}
    losses = []
    for victim, pods in evicted.items():
        gpus = sum(view.pod_gpus(view.names.pods[each.pod]) for each in pods if each.pod in view.names.pods)
        left = len(view.pods_of.get(victim, ())) - len(pods)
        if any(each.is_relocated for each in pods):
            returns = "restarts on another node"
        elif left > 0 and victim not in outcomes:
            returns = f"keeps running with {left} {'pod' if left == 1 else 'pods'}"
        else:
            returns = "returns to its queue"
        losses.append(
            Loss(
                *(victim, view.names.name(victim), view.names.queue(victim), len(pods), gpus),
                *(pods[0].action, returns, max(each.evict_time for each in pods)),
            )
        )
    return losses


def _changes(view: View, response: DecideResponse) -> list[QueueChange]:
    """Leaf queues whose GPUs change, and that of the workload first."""
    parents = {queue.parent for queue in view.snapshot.queues}
    found = []
    for status in response.queues:
        queue = view.queues.get(status.name)
        if queue is None or status.name in parents:
            continue
        before, after = status.allocated_before.gpu_milli, status.allocated_after.gpu_milli
        quota = queue.gpu_milli.quota if queue.HasField("gpu_milli") else -1
        found.append(QueueChange(status.name, quota, before, after))
    return sorted(found, key=lambda change: (change.before == change.after, change.name))


def _whole(text: str, field: str, least: int, most: int, problems: dict[str, str]) -> int:
    if re.fullmatch(r"\s*-?[0-9]{1,10}\s*", text) and least <= int(text) <= most:
        return int(text)
    problems[field] = f"Write a whole number from {least:,} to {most:,}."
    return 0


def _gpus(text: str, problems: dict[str, str]) -> int:
    milli = round(_amount(text or "0", "gpus", problems) * 1000)
    if milli > WHOLE_GPU and milli % WHOLE_GPU:
        problems["gpus"] = "Write whole GPUs such as 2, or a part of one such as 0.5."
    return milli


def _amount(text: str, field: str, problems: dict[str, str]) -> float:
    if re.fullmatch(r"\s*[0-9]{1,6}(\.[0-9]{1,3})?\s*", text):
        return float(text)
    problems[field] = "Write a number such as 2 or 0.5."
    return 0.0


def _duration(text: str, field: str, problems: dict[str, str]) -> int | None:
    if not text.strip():
        return None
    try:
        return parse_duration(text.strip())
    except ValueError:
        problems[field] = "Write a duration such as 30m or 2h, or nothing."
        return None
