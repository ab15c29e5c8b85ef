"""Each rule finds the history that breaks it, and nothing in one that does not."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.kube.faults.history import Call, History, Request, Seen
from tests.kube.faults.rules import Facts, GroupFacts, broken

_POD = "/api/v1/namespaces/ns/pods"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/tenure"
_FREE = GroupFacts(needs=1, may_yield=True, keeps_core=False, minimum_seconds=0.0)
_FACTS = Facts(
    gpus={"n1": 8},
    groups={
        "a": _FREE,
        "b": _FREE,
        "firm": _FREE._replace(may_yield=False),
        "core": _FREE._replace(keeps_core=True),
        "gang": _FREE._replace(needs=2),
        "young": _FREE._replace(minimum_seconds=10.0),
    },
    lease_seconds=3.0,
    pause_seconds=60.0,
)


class Past:
    """Writes a history. Whatever is written takes place at `now`, which is then a little later."""

    def __init__(self) -> None:
        self.history, self.now = History(), 1000.0
        self._pods: dict[str, dict[str, Any]] = {}
        self.lease("one")

    def call(self, actor: str, method: str, path: str, body: Any, status: int, takes: float = 0.1) -> None:
        request = Request(self.history.next_number(), actor, method, path, "", body)
        call = Call(request, self.now, self.now + takes, was_sent=True, status=status)
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
        self._see("MODIFIED", name)

    def yields(self, name: str) -> None:
        pod = self._pods[name]
        ended = {"conditions": [{"type": "DisruptionTarget", "reason": "EvictionByEvictionAPI"}]}
        meta = {**pod["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        self._pods[name] = {**pod, "metadata": meta, "status": ended}
        self._see("MODIFIED", name)

    def gone(self, name: str) -> None:
        self._see("DELETED", name)

    def note(self, group: str, **annotations: float) -> None:
        texts = {
            f"kai.scheduler/{key.replace('_', '-')}": datetime.fromtimestamp(at, UTC).isoformat()
            for key, at in annotations.items()
        }
        item = {"metadata": {"name": group, "uid": group, "annotations": texts}}
        self.history.pod_groups.append(Seen(self.now, "MODIFIED", item))

    def _see(self, event: str, name: str) -> None:
        self.history.pods.append(Seen(self.now, event, self._pods[name]))
        self.now += 0.1


def everything_well(past: Past) -> None:
    past.pod("a-0", "a")
    past.bind("a-0")
    past.pod("a-0", "a", node="n1")
    past.pod("b-0", "b", 8)
    past.evict("a-0")
    past.yields("a-0")
    past.gone("a-0")
    past.bind("b-0", 500)
    past.bind("b-0")
    past.pod("b-0", "b", 8, "n1")


def bound_again(past: Past) -> None:
    past.bind("a-0")
    past.bind("a-0", 409)


def evicted_again(past: Past) -> None:
    past.pod("a-0", "a", node="n1")
    past.evict("a-0")
    past.evict("a-0", 404)


def too_much_on_a_node(past: Past) -> None:
    for i in range(3):
        past.pod(f"a-{i}", "a", node="n1")


def room_given_before_it_is_free(past: Past) -> None:
    past.pod("a-0", "a", 8, "n1")
    past.yields("a-0")
    past.pod("b-0", "b", 8, "n1")


def firm_evicted(past: Past) -> None:
    past.pod("firm-0", "firm", node="n1")
    past.evict("firm-0")


def stranger_evicted(past: Past) -> None:
    past.evict("unknown-0")


def core_evicted(past: Past) -> None:
    past.pod("core-0", "core", node="n1")
    past.pod("core-1", "core", node="n1")
    past.yields("core-0")
    past.yields("core-1")


def surplus_evicted(past: Past) -> None:
    past.pod("core-0", "core", node="n1")
    past.pod("core-1", "core", node="n1")
    past.yields("core-0")


def young_evicted(past: Past) -> None:
    past.pod("young-0", "young", node="n1")
    past.note("young", last_start_timestamp=past.now - 9)
    past.evict("young-0")


def young_evicted_before_its_start_was_noted(past: Past) -> None:
    past.pod("young-0", "young", node="n1")
    past.evict("young-0")


def old_evicted(past: Past) -> None:
    past.pod("young-0", "young", node="n1")
    past.note("young", last_start_timestamp=past.now - 11)
    past.evict("young-0")


def half_a_gang(past: Past) -> None:
    past.pod("gang-0", "gang", node="n1")
    past.pod("gang-1", "gang")


def ping_pong(past: Past) -> None:
    past.pod("a-0", "a", 8, "n1")
    past.yields("a-0")
    past.gone("a-0")
    past.pod("b-0", "b", 8, "n1")
    past.yields("b-0")
    past.gone("b-0")
    past.pod("a-1", "a", 8, "n1")


def ping_and_much_later_pong(past: Past) -> None:
    past.pod("a-0", "a", 8, "n1")
    past.yields("a-0")
    past.gone("a-0")
    past.pod("b-0", "b", 8, "n1")
    past.now += 100
    past.yields("b-0")
    past.gone("b-0")
    past.pod("a-1", "a", 8, "n1")


def requeued_within_its_pause(past: Past) -> None:
    past.note("a", requeue_not_before=past.now + 30)
    past.now += 20
    past.note("a", requeue_not_before=past.now + 30)


def written_without_the_lease(past: Past) -> None:
    past.bind("a-0", actor="two")


def written_after_the_lease_was_taken(past: Past) -> None:
    past.now += 4
    past.lease("two")
    past.bind("a-0")


def written_after_the_lease_ran_out(past: Past) -> None:
    past.now += 4
    past.bind("a-0")


def written_after_a_renewal_that_was_refused(past: Past) -> None:
    past.now += 2
    past.call("one", "PUT", _LEASE, {"spec": {"holderIdentity": "one"}}, 409)
    past.now += 2
    past.bind("a-0")


def written_by_the_next_leader(past: Past) -> None:
    past.lease("one", holder="")
    past.lease("two")
    past.bind("a-0", actor="two")


@pytest.mark.parametrize(
    "write",
    [everything_well, surplus_evicted, old_evicted, ping_and_much_later_pong, written_by_the_next_leader],
)
def test_what_breaks_no_rule_is_left_alone(write: Any) -> None:
    past = Past()
    write(past)
    assert broken(past.history, _FACTS) == []


@pytest.mark.parametrize(
    ("write", "rule", "said"),
    [
        (bound_again, "bound once", "a-0 was bound by call 2 and is asked for again"),
        (evicted_again, "evicted once", "a-0 was evicted by call 2 and is asked for again"),
        (too_much_on_a_node, "within capacity", "12 GPUs of 8 are used on node n1"),
        (room_given_before_it_is_free, "within capacity", "16 GPUs of 8 are used on node n1"),
        (firm_evicted, "no protected evicted", "firm-0 was evicted, though nobody may evict it"),
        (stranger_evicted, "no protected evicted", "unknown-0 was evicted, and nobody ever saw it"),
        (core_evicted, "no protected evicted", "an eviction leaves 0 pods of core, of a core of 1"),
        (young_evicted, "no protected evicted", "young-0 was evicted after 9.00 s, of at least 10 s"),
        (young_evicted_before_its_start_was_noted, "no protected evicted", "after 0.10 s, of at least 10 s"),
        (half_a_gang, "gangs whole", "1 pods of gang are bound, which needs 2"),
        (ping_pong, "no ping-pong", "a yields to b, and takes the room back from it"),
        (requeued_within_its_pause, "cooldown kept", "a was requeued again before its time"),
        (written_without_the_lease, "one leads", "two sends POST"),
        (written_after_the_lease_was_taken, "one leads", "while two has the lease"),
        (written_after_the_lease_ran_out, "one leads", "4.0 s after it renewed the lease"),
        (written_after_a_renewal_that_was_refused, "one leads", "4.1 s after it renewed the lease"),
    ],
)
def test_each_rule_finds_what_breaks_it(write: Any, rule: str, said: str) -> None:
    past = Past()
    write(past)
    (found,) = broken(past.history, _FACTS)
    assert found.startswith(f"{rule}: ")
    assert said in found
