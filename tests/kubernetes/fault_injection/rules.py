"""Rules for every history, whatever failed: each returns its violations as text.

The rules use only requests and versions of objects, not how decisions were made.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from tests.kubernetes.fault_injection.history import History, ObjectVersion, RecordedCall

_START: Final = "kai.scheduler/last-start-timestamp"
_GPU: Final = "nvidia.com/gpu"


class GroupFacts(NamedTuple):
    """Properties of a pod group."""

    needs: int
    """Number of its pods that must run."""
    is_evictable: bool
    keeps_core: bool
    """Whether its minimum number of pods is never evicted."""
    minimum_seconds: float
    """Minimum runtime before it can be evicted."""


class Facts(NamedTuple):
    """Properties of the cluster."""

    gpus: Mapping[str, int]
    """GPUs by node."""
    groups: Mapping[str, GroupFacts]
    lease_seconds: float = 3.0
    pause_seconds: float = 60.0
    """Within this time two pod groups must not evict each other."""


Rule = Callable[[History, Facts], Iterator[str]]


def find_repeated_bindings(history: History, facts: Facts) -> Iterator[str]:
    """No binding is sent for a pod that was bound."""
    yield from _find_repeated_requests(history, "bound", lambda call: call.request.is_binding)


def find_repeated_evictions(history: History, facts: Facts) -> Iterator[str]:
    """No eviction is sent for a pod that was evicted."""
    yield from _find_repeated_requests(history, "evicted", lambda call: call.request.is_eviction)


def _find_repeated_requests(
    history: History, what: str, is_such: Callable[[RecordedCall], bool]
) -> Iterator[str]:
    done: dict[str, RecordedCall] = {}
    for call in filter(is_such, history.steps()):
        before = done.get(call.request.uid)
        if before is not None and before.ended <= call.began:
            yield f"pod {_name(call)} was {what} by call {before.request.number} and is asked for again"
        if call.is_done:
            done.setdefault(call.request.uid, call)


def find_capacity_violations(history: History, facts: Facts) -> Iterator[str]:
    """At all times the pods of a node fit on it, including terminating ones."""
    there: dict[str, ObjectVersion] = {}
    for seen in history.pods:
        there.pop(seen.uid, None)
        if not seen.is_gone and seen.node:
            there[seen.uid] = seen
            used = sum(_gpus(one) for one in there.values() if one.node == seen.node)
            if used > facts.gpus.get(seen.node, 0):
                yield f"{used} GPUs of {facts.gpus.get(seen.node, 0)} are used on node {seen.node}"


def find_protected_evictions(history: History, facts: Facts) -> Iterator[str]:
    """No pod is evicted that is not evictable, belongs to a core, or is within its minimum runtime."""
    for call in history.steps():
        if not (call.request.is_eviction and call.is_done):
            continue
        name = _group_of(history, call.request.uid)
        if name not in facts.groups:
            yield f"{_name(call)} was evicted, and nobody ever saw it"
            continue
        group = facts.groups[name]
        if not group.is_evictable:
            yield f"{_name(call)} was evicted, though nobody may evict it"
        started = _started(history, name, call.began)
        if group.minimum_seconds and started is not None:
            ran = call.began - started
            if ran < group.minimum_seconds:
                yield f"{_name(call)} was evicted after {ran:.2f} s, of at least {group.minimum_seconds:g} s"
    for name, group in facts.groups.items():
        if group.keeps_core:
            yield from _is_core_preserved(history, name, group.needs)


def _is_core_preserved(history: History, name: str, needs: int) -> Iterator[str]:
    running: set[str] = set()
    for seen in (one for one in history.pods if one.pod_group == name):
        was = len(running)
        running.discard(seen.uid)
        if seen.node and not seen.is_ending:
            running.add(seen.uid)
        if seen.was_evicted and len(running) < min(needs, was):
            yield f"an eviction leaves {len(running)} pods of {name}, of a core of {needs}"


def find_partial_gangs(history: History, facts: Facts) -> Iterator[str]:
    """When the cluster is idle, a pod group runs with at least its minimum or not at all."""
    last = {seen.uid: seen for seen in history.pods}
    count: dict[str, int] = defaultdict(int)
    for seen in last.values():
        if seen.node and not seen.is_ending:
            count[seen.pod_group] += 1
    for name, running in sorted(count.items()):
        if running < facts.groups[name].needs:
            yield f"{running} pods of {name} are bound, which needs {facts.groups[name].needs}"


def find_retaliatory_evictions(history: History, facts: Facts) -> Iterator[str]:
    """A victim does not evict its preemptor within the pause."""
    taken: dict[tuple[str, str], float] = {}
    yielded: dict[str, tuple[str, float]] = {}
    evicted: set[str] = set()
    bound: set[str] = set()
    for seen in history.pods:
        if seen.was_evicted and seen.uid not in evicted:
            evicted.add(seen.uid)
            yielded[seen.node] = seen.pod_group, seen.at
        if not seen.node or seen.uid in bound:
            continue
        bound.add(seen.uid)
        victim, at = yielded.pop(seen.node, (seen.pod_group, 0.0))
        taker = seen.pod_group
        if victim == taker:
            continue
        if seen.at - taken.get((taker, victim), float("-inf")) < facts.pause_seconds:
            yield f"{taker} yields to {victim}, and takes the room back from it"
        taken[victim, taker] = at


def find_cooldown_violations(history: History, facts: Facts) -> Iterator[str]:
    """No pod group is requeued before its stored `requeue-not-before`."""
    times: dict[str, list[float]] = defaultdict(list)
    for seen in history.pod_groups:
        if text := seen.annotations.get("kai.scheduler/requeue-not-before", ""):
            name, until = seen.object["metadata"]["name"], _seconds(text)
            if not times[name] or until != times[name][-1]:
                if times[name] and seen.at < times[name][-1]:
                    yield f"{name} was requeued again before its time"
                times[name].append(until)


def find_writes_without_lease(history: History, facts: Facts) -> Iterator[str]:
    """Every writer has the lease: it was the last to renew it, within the lease duration."""
    leases = [call for call in history.calls if call.request.is_of_lease and call.request.is_write]
    held = sorted((call for call in leases if call.is_done), key=lambda call: call.ended)
    for call in history.calls:
        request = call.request
        if not request.is_write or request.is_of_lease:
            continue
        before = [one for one in held if one.ended <= call.began]
        ours = [one for one in held if one.began < call.began and one.request.actor == request.actor]
        description = f"{request.actor} sends {request.method} {request.path}"
        if not ours:
            yield f"{description} and never had the lease"
        elif before and before[-1].ended > ours[-1].ended and _holder(before[-1]):
            yield f"{description} while {before[-1].request.actor} has the lease"
        elif call.began > ours[-1].ended + facts.lease_seconds:
            yield f"{description} {call.began - ours[-1].ended:.1f} s after it renewed the lease"


RULES: Final[Mapping[str, Rule]] = {
    "bound once": find_repeated_bindings,
    "evicted once": find_repeated_evictions,
    "within capacity": find_capacity_violations,
    "no protected evicted": find_protected_evictions,
    "gangs whole": find_partial_gangs,
    "no ping-pong": find_retaliatory_evictions,
    "cooldown kept": find_cooldown_violations,
    "one leads": find_writes_without_lease,
}


def find_violations(history: History, facts: Facts) -> list[str]:
    """Return all violations, each with the name of its rule."""
    return [f"{name}: {violation}" for name, rule in RULES.items() for violation in rule(history, facts)]


def _holder(call: RecordedCall) -> str:
    return str(call.request.body["spec"].get("holderIdentity") or "")


def _name(call: RecordedCall) -> str:
    return call.request.path.split("/")[-2]


def _group_of(history: History, uid: str) -> str:
    return next((seen.pod_group for seen in history.pods if seen.uid == uid), "")


def _gpus(seen: ObjectVersion) -> int:
    amounts = (one["resources"].get("requests", {}) for one in seen.object["spec"]["containers"])
    return sum(int(amount.get(_GPU, 0)) for amount in amounts)


def _started(history: History, name: str, at: float) -> float | None:
    """When a pod group last started: the stored time, else when a binding was seen."""
    noted = [
        seen.annotations[_START]
        for seen in history.pod_groups
        if seen.at <= at and seen.object["metadata"]["name"] == name and _START in seen.annotations
    ]
    if noted:
        return _seconds(noted[-1])
    return next((seen.at for seen in history.pods if seen.pod_group == name and seen.node), None)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
