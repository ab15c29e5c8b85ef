"""Tells people and controllers why pods wait: conditions and events, written by one thread, in no hurry.

Only what changed is written, and of one pod group not more often than every `QUIET_SECONDS`: the verdict that
holds then. A search that was cut short says nothing new about a pod group of which something was said. What
cannot be written now is forgotten: the next verdict says it again, and no decision waits for it.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from tenure.client.kubernetes.apply.annotations import path
from tenure.client.kubernetes.apply.calls import PodName
from tenure.client.kubernetes.apply.conditions import (
    UNSCHEDULABLE,
    Verdict,
    is_same,
    kai_condition,
    pod_condition,
    verdict_of,
    volcano_condition,
)
from tenure.client.kubernetes.apply.events import Events, Regarding
from tenure.client.kubernetes.failures import ApiFailure
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.objects.pod import Pod
from tenure.client.kubernetes.observe.groups import Subject
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.observe.picture import Picture
from tenure.client.kubernetes.transport import APPLY_PATCH, Transport
from tenure.v1.decision_pb2 import OUTCOME_KIND_BUDGET_EXHAUSTED, Decision
from tenure.v1.decision_service_pb2 import DecideResponse

QUIET_SECONDS: Final = 5.0
"""How long the verdict on a pod group stands before another is told."""
MANAGER: Final = "tenure-status"
"""Field manager of conditions: some objects have theirs beside their annotations, under another manager."""
_LOOK_SECONDS: Final = 0.2
_MOST_EVENTS: Final = 10_000
"""Events that wait to be told; the oldest go first when there are more."""
_LOG: Final = logging.getLogger(__name__)


class _Wanted(NamedTuple):
    """What is to be told of one pod group."""

    verdict: Verdict
    subject: Subject | None
    pods: list[str]


class _Object(msgspec.Struct):
    metadata: dict[str, Any] = {}
    status: dict[str, Any] = {}


class Teller:
    """`tell` from the rounds, `run` in a thread of its own. `may_act` is asked before each write."""

    def __init__(
        self,
        transport: Transport,
        mirrors: Mirrors,
        may_act: Callable[[], bool],
        node_pool: str,
        instance: str,
    ) -> None:
        self._transport, self._mirrors, self._may_act = transport, mirrors, may_act
        self._node_pool = node_pool
        self._events = Events(transport, instance)
        self._wanted: dict[str, _Wanted] = {}
        self._told: dict[str, tuple[Verdict, float]] = {}
        """The last verdict on each pod group, and when it was told by the monotonic clock."""
        self._done: deque[tuple[Regarding, Decision]] = deque(maxlen=_MOST_EVENTS)
        self._changing = threading.Lock()
        self._stopped = threading.Event()

    def tell(self, answer: DecideResponse, new: Sequence[Entry], picture: Picture) -> None:
        """What was decided and done in a round. Returns at once."""
        wanted: dict[str, _Wanted] = {}
        for outcome in answer.outcomes:
            uid, verdict = outcome.pod_group, verdict_of(outcome)
            is_new = uid not in self._told and uid not in self._wanted
            if verdict and (outcome.kind != OUTCOME_KIND_BUDGET_EXHAUSTED or is_new):
                wanted[uid] = _Wanted(verdict, picture.subject(uid), picture.pods_of(uid))
        with self._changing:
            self._wanted = {**self._wanted, **wanted}
            self._done.extend(self._taken(new))
        for uid in [uid for uid in list(self._told) if picture.pod_group(uid) is None]:
            self._told.pop(uid, None)

    def run(self) -> None:
        """Write what is to be told until stopped."""
        while not self._stopped.wait(_LOOK_SECONDS):
            self._write_due()

    def stop(self) -> None:
        """Let `run` return after the write that is under way."""
        self._stopped.set()

    def _write_due(self) -> None:
        with self._changing:
            done, due = list(self._done), {u: w for u, w in self._wanted.items() if self._is_due(u, w)}
            self._done.clear()
            for uid in due:
                del self._wanted[uid]
        for about, decision in done:
            self._try(lambda about=about, decision=decision: self._tell_done(about, decision))  # type: ignore[misc]
        for uid, wanted in due.items():
            if self._stopped.is_set():
                return
            before = self._told.get(uid)
            if before is None or before[0][:2] != wanted.verdict[:2]:
                self._tell_verdict(uid, wanted)

    def _is_due(self, uid: str, wanted: _Wanted) -> bool:
        before = self._told.get(uid)
        return before is None or not wanted.verdict.reason or time.monotonic() >= before[1] + QUIET_SECONDS

    def _tell_verdict(self, uid: str, wanted: _Wanted) -> None:
        self._told[uid] = (wanted.verdict, time.monotonic())
        if wanted.verdict.reason:
            for pod_uid in wanted.pods:
                pod = self._mirrors.pods.find(pod_uid)
                if pod is not None and _waits(pod) and not _says(pod, wanted.verdict):
                    self._try(lambda pod=pod: self._put_pod(pod, wanted.verdict))  # type: ignore[misc]
        subject = wanted.subject
        if subject is not None:
            self._try(lambda: self._put_subject(subject, wanted.verdict))

    def _put_pod(self, pod: Pod, verdict: Verdict) -> None:
        meta = pod.metadata
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "status": {"conditions": [pod_condition(verdict)]},
        }
        where = f"{PodName(meta.namespace, meta.name, meta.uid).path}/status"
        self._transport.patch(where, body, APPLY_PATCH, {"fieldManager": MANAGER, "force": "true"})

    def _put_subject(self, subject: Subject, verdict: Verdict) -> None:
        """Replace our condition among those of a pod group, which are one list to server-side apply."""
        is_kai = subject.api_version.startswith("scheduling.run.ai/")
        there = msgspec.json.decode(self._transport.get(path(subject)), type=_Object)
        field = "schedulingConditions" if is_kai else "conditions"
        conditions = there.status.get(field, [])
        ours: dict[str, Any] = next((one for one in conditions if self._is_ours(one, is_kai)), {})
        fresh = kai_condition(verdict, self._node_pool, ours) if is_kai else volcano_condition(verdict, ours)
        if there.metadata.get("uid") != subject.uid or is_same(ours, fresh) or not (ours or verdict.reason):
            return
        others = [one for one in conditions if not self._is_ours(one, is_kai)]
        self._put_conditions(subject, field, [*others, fresh], there.metadata.get("resourceVersion", ""))
        if verdict.reason:
            self._tell_waiting(subject, verdict)

    def _put_conditions(self, subject: Subject, field: str, conditions: list[Any], version: str) -> None:
        body = {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "metadata": {
                "name": subject.name,
                "namespace": subject.namespace,
                "uid": subject.uid,
                "resourceVersion": version,
            },
            "status": {field: conditions},
        }
        where = f"{path(subject)}/status" if field == "schedulingConditions" else path(subject)
        self._transport.patch(where, body, APPLY_PATCH, {"fieldManager": MANAGER, "force": "true"})

    def _tell_waiting(self, subject: Subject, verdict: Verdict) -> None:
        is_warning = verdict.reason in (UNSCHEDULABLE, "RejectedInput")
        about, code = Regarding(*subject), verdict.code
        self._events.tell(about, code, code, verdict.message, "Scheduling", is_warning)

    def _tell_done(self, about: Regarding, decision: Decision) -> None:
        is_binding = decision.HasField("bind")
        reason, action = ("Scheduled", "Binding") if is_binding else ("Evicted", "Evicting")
        note = f"Bound to {decision.bind.node}." if is_binding else decision.reason.message
        self._events.tell_once(about, decision.id, reason, note, action)

    def _is_ours(self, condition: dict[str, Any], is_kai: bool) -> bool:
        if is_kai:
            return bool(condition.get("nodePool") == (self._node_pool or "default"))
        return condition.get("type") in (UNSCHEDULABLE, "Scheduled")

    def _taken(self, entries: Iterable[Entry]) -> list[tuple[Regarding, Decision]]:
        done = []
        for entry in entries:
            for decision in filter(entry.is_applied, entry.group.decisions):
                pod = self._mirrors.pods.find(decision.bind.pod or decision.evict.pod)
                if pod is not None:
                    meta = pod.metadata
                    done.append((Regarding("v1", "Pod", meta.namespace, meta.name, meta.uid), decision))
        return done

    def _try(self, write: Callable[[], None]) -> None:
        if not self._may_act():
            return
        try:
            write()
        except ApiFailure as failure:
            _LOG.info("Not told: %s", failure)


def _waits(pod: Pod) -> bool:
    return (
        not pod.spec.node_name and pod.metadata.deletion_timestamp is None and not pod.spec.scheduling_gates
    )


def _says(pod: Pod, verdict: Verdict) -> bool:
    """Whether a pod has the condition already."""
    return any(
        (one.type, one.status, one.reason, one.message)
        == ("PodScheduled", "False", verdict.reason, verdict.message)
        for one in pod.status.conditions
    )
