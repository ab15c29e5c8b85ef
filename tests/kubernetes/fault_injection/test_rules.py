"""Each rule reports a history that violates it, and no other."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.kubernetes.fault_injection.history import History, ObjectVersion, RecordedCall, RecordedRequest
from tests.kubernetes.fault_injection.rules import Facts, GroupFacts, find_violations

_POD = "/api/v1/namespaces/ns/pods"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/tenure"
_FREE = GroupFacts(needs=1, is_evictable=True, keeps_core=False, minimum_seconds=0.0)
_FACTS = Facts(
    gpus={"n1": 8},
    groups={
        "a": _FREE,
        "b": _FREE,
        "firm": _FREE._replace(is_evictable=False),
        "core": _FREE._replace(keeps_core=True),
        "gang": _FREE._replace(needs=2),
        "young": _FREE._replace(minimum_seconds=10.0),
    },
    lease_seconds=3.0,
    pause_seconds=60.0,
)


class HistoryWriter:
    """Builds a history. Each entry happens at `now`, which then advances a little."""

    def __init__(self) -> None:
        self.history, self.now = History(), 1000.0
        self._pods: dict[str, dict[str, Any]] = {}
        self.lease("one")

    def call(self, actor: str, method: str, path: str, body: Any, status: int, takes: float = 0.1) -> None:
        request = RecordedRequest(self.history.next_number(), actor, method, path, "", body)
        call = RecordedCall(request, self.now, self.now + takes, was_sent=True, status=status)
        self.history.calls.append(call)
        self.now += takes

    def lease(self, actor: str, holder: str | None = None) -> None:
        spec = {"holderIdentity": actor if holder is None else holder}
        self.call(actor, "PUT", _LEASE, {"spec": spec}, 200)

    def bind(self, pod: str, status: int = 201, actor: str = "one") -> None:
        self.call(actor, "POST", f"{_POD}/{pod}/binding", {"metadata": {"uid": pod}}, status)

    def evict(self, pod: str, status: int = 201, actor: str = "one") -> None:
        body = {"deleteOptions": {"preconditions": {"uid": pod}}}
        self.call(actor, "POST", f"{_POD}/{pod}/eviction", body, status)

    def pod(self, name: str, group: str, gpus: int = 4, node: str = "") -> None:
        requests = {"requests": {"nvidia.com/gpu": str(gpus)}}
        meta = {"name": name, "uid": name, "annotations": {"pod-group-name": group}}
        spec = {"containers": [{"resources": requests}], **({"nodeName": node} if node else {})}
        self._pods[name] = {"metadata": meta, "spec": spec, "status": {}}
        self._record_version("MODIFIED", name)

    def evict_pod_group(self, name: str) -> None:
        pod = self._pods[name]
        ended = {"conditions": [{"type": "DisruptionTarget", "reason": "EvictionByEvictionAPI"}]}
        meta = {**pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        self._pods[name] = {**pod, "metadata": meta, "status": ended}
        self._record_version("MODIFIED", name)

    def delete_pod(self, name: str) -> None:
        self._record_version("DELETED", name)

    def note(self, group: str, **annotations: float) -> None:
        texts = {
            f"kai.scheduler/{key.replace('_', '-')}": datetime.fromtimestamp(at, UTC).isoformat()
            for key, at in annotations.items()
        }
        item = {"metadata": {"name": group, "uid": group, "annotations": texts}}
        self.history.pod_groups.append(ObjectVersion(self.now, "MODIFIED", item))

    def _record_version(self, event: str, name: str) -> None:
        self.history.pods.append(ObjectVersion(self.now, event, self._pods[name]))
        self.now += 0.1


def sound_history(past: HistoryWriter) -> None:
    past.pod("a-0", "a")
    past.bind("a-0")
    past.pod("a-0", "a", node="n1")
    past.pod("b-0", "b", 8)
    past.evict("a-0")
    past.evict_pod_group("a-0")
    past.delete_pod("a-0")
    past.bind("b-0", 500)
    past.bind("b-0")
    past.pod("b-0", "b", 8, "n1")


def repeated_binding(past: HistoryWriter) -> None:
    past.bind("a-0")
    past.bind("a-0", 409)


def repeated_eviction(past: HistoryWriter) -> None:
    past.pod("a-0", "a", node="n1")
    past.evict("a-0")
    past.evict("a-0", 404)


def overcommitted_node(past: HistoryWriter) -> None:
    for i in range(3):
        past.pod(f"a-{i}", "a", node="n1")


def binding_before_capacity_is_free(past: HistoryWriter) -> None:
    past.pod("a-0", "a", 8, "n1")
    past.evict_pod_group("a-0")
    past.pod("b-0", "b", 8, "n1")


def non_preemptible_eviction(past: HistoryWriter) -> None:
    past.pod("firm-0", "firm", node="n1")
    past.evict("firm-0")


def foreign_pod_eviction(past: HistoryWriter) -> None:
    past.evict("unknown-0")


def core_eviction(past: HistoryWriter) -> None:
    past.pod("core-0", "core", node="n1")
    past.pod("core-1", "core", node="n1")
    past.evict_pod_group("core-0")
    past.evict_pod_group("core-1")


def surplus_eviction(past: HistoryWriter) -> None:
    past.pod("core-0", "core", node="n1")
    past.pod("core-1", "core", node="n1")
    past.evict_pod_group("core-0")


def eviction_before_minimum_runtime(past: HistoryWriter) -> None:
    past.pod("young-0", "young", node="n1")
    past.note("young", last_start_timestamp=past.now - 9)
    past.evict("young-0")


def eviction_before_start_time_is_stored(past: HistoryWriter) -> None:
    past.pod("young-0", "young", node="n1")
    past.evict("young-0")


def eviction_after_minimum_runtime(past: HistoryWriter) -> None:
    past.pod("young-0", "young", node="n1")
    past.note("young", last_start_timestamp=past.now - 11)
    past.evict("young-0")


def partial_gang(past: HistoryWriter) -> None:
    past.pod("gang-0", "gang", node="n1")
    past.pod("gang-1", "gang")


def retaliatory_eviction(past: HistoryWriter) -> None:
    past.pod("a-0", "a", 8, "n1")
    past.evict_pod_group("a-0")
    past.delete_pod("a-0")
    past.pod("b-0", "b", 8, "n1")
    past.evict_pod_group("b-0")
    past.delete_pod("b-0")
    past.pod("a-1", "a", 8, "n1")


def late_retaliatory_eviction(past: HistoryWriter) -> None:
    past.pod("a-0", "a", 8, "n1")
    past.evict_pod_group("a-0")
    past.delete_pod("a-0")
    past.pod("b-0", "b", 8, "n1")
    past.now += 100
    past.evict_pod_group("b-0")
    past.delete_pod("b-0")
    past.pod("a-1", "a", 8, "n1")


def requeue_within_cooldown(past: HistoryWriter) -> None:
    past.note("a", requeue_not_before=past.now + 30)
    past.now += 20
    past.note("a", requeue_not_before=past.now + 30)


def write_without_lease(past: HistoryWriter) -> None:
    past.bind("a-0", actor="two")


def write_after_lease_transfer(past: HistoryWriter) -> None:
    past.now += 4
    past.lease("two")
    past.bind("a-0")


def write_after_lease_expiry(past: HistoryWriter) -> None:
    past.now += 4
    past.bind("a-0")


def write_after_rejected_renewal(past: HistoryWriter) -> None:
    past.now += 2
    past.call("one", "PUT", _LEASE, {"spec": {"holderIdentity": "one"}}, 409)
    past.now += 2
    past.bind("a-0")


def write_by_next_leader(past: HistoryWriter) -> None:
    past.lease("one", holder="")
    past.lease("two")
    past.bind("a-0", actor="two")


@pytest.mark.parametrize(
    "write",
    [
        sound_history,
        surplus_eviction,
        eviction_after_minimum_runtime,
        late_retaliatory_eviction,
        write_by_next_leader,
    ],
)
def test_sound_history_has_no_violations(write: Any) -> None:
    past = HistoryWriter()
    write(past)
    assert find_violations(past.history, _FACTS) == []


@pytest.mark.parametrize(
    ("write", "rule", "message"),
    [
        (repeated_binding, "bound once", "a-0 was bound by call 2 and is asked for again"),
        (repeated_eviction, "evicted once", "a-0 was evicted by call 2 and is asked for again"),
        (overcommitted_node, "within capacity", "12 GPUs of 8 are used on node n1"),
        (binding_before_capacity_is_free, "within capacity", "16 GPUs of 8 are used on node n1"),
        (non_preemptible_eviction, "no protected evicted", "firm-0 was evicted, though nobody may evict it"),
        (foreign_pod_eviction, "no protected evicted", "unknown-0 was evicted, and nobody ever saw it"),
        (core_eviction, "no protected evicted", "an eviction leaves 0 pods of core, of a core of 1"),
        (
            eviction_before_minimum_runtime,
            "no protected evicted",
            "young-0 was evicted after 9.00 s, of at least 10 s",
        ),
        (eviction_before_start_time_is_stored, "no protected evicted", "after 0.10 s, of at least 10 s"),
        (partial_gang, "gangs whole", "1 pods of gang are bound, which needs 2"),
        (retaliatory_eviction, "no ping-pong", "a yields to b, and takes the room back from it"),
        (requeue_within_cooldown, "cooldown kept", "a was requeued again before its time"),
        (write_without_lease, "one leads", "two sends POST"),
        (write_after_lease_transfer, "one leads", "while two has the lease"),
        (write_after_lease_expiry, "one leads", "4.0 s after it renewed the lease"),
        (write_after_rejected_renewal, "one leads", "4.1 s after it renewed the lease"),
    ],
)
def test_each_rule_reports_its_violation(write: Any, rule: str, message: str) -> None:
    past = HistoryWriter()
    write(past)
    (found,) = find_violations(past.history, _FACTS)
    assert found.startswith(f"{rule}: ")
    assert message in found
