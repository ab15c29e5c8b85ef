"""Tells people and controllers why pods wait: conditions and events, written by one thread, in no hurry.

Only what changed is written, and of one pod group not more often than every `QUIET_SECONDS`: the verdict that
holds then. A search that was cut short says nothing new about a pod group of which something was said. A
verdict that cannot be written now is tried again later, unless there is another one by then; an event is
forgotten. No decision waits for any of it.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec
from tenure.client.kubernetes.apply.annotations import path
from tenure.client.kubernetes.apply.calls import PodName
from tenure.client.kubernetes.apply.conditions import (
    NOT_READY,
    UNSCHEDULABLE,
    Verdict,
    is_same,
    kai_condition,
    pod_condition,
    says,
    verdict_of,
    volcano_condition,
)
from tenure.client.kubernetes.apply.events import Events, Regarding
from tenure.client.kubernetes.apply.leased import Leased
from tenure.client.kubernetes.apply.progress import News, Progress
from tenure.client.kubernetes.failures import ApiFailure, LeaseLost, NotFound, Refused
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.objects.pod import Pod
from tenure.client.kubernetes.observe.groups import Subject
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.observe.picture import Picture
from tenure.client.kubernetes.transport import APPLY_PATCH, Transport
from tenure.v1.decision_pb2 import OUTCOME_KIND_BUDGET_EXHAUSTED
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
    not_before: float
    """By the monotonic clock."""


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
        self._transport, self._mirrors = Leased(transport, may_act), mirrors
        self._node_pool = node_pool
        self._events = Events(self._transport, instance)
        self._wanted: dict[str, _Wanted] = {}
        self._told: dict[str, tuple[Verdict, float]] = {}
        """The last verdict on each pod group, and when it was told by the monotonic clock."""
        self._again: dict[str, float] = {}
        """When a verdict that could not be told is tried again."""
        self._progress = Progress(mirrors)
        self._news: deque[News] = deque(maxlen=_MOST_EVENTS)
        self._changing = threading.Lock()
        self._stopped = threading.Event()

    def tell(self, answer: DecideResponse, entries: Iterable[Entry], picture: Picture) -> None:
        """What was decided, and what came of the groups that are under way. Returns at once."""
        wanted: dict[str, _Wanted] = {}
        for outcome in answer.outcomes:
            uid, verdict = outcome.pod_group, verdict_of(outcome)
            is_new = uid not in self._told and uid not in self._wanted
            if verdict and (outcome.kind != OUTCOME_KIND_BUDGET_EXHAUSTED or is_new):
                begin = self._patience(uid, verdict)
                wanted[uid] = _Wanted(verdict, picture.subject(uid), picture.pods_of(uid), begin)
        news = self._progress.news(entries, picture)
        with self._changing:
            self._wanted = {**self._wanted, **wanted}
            self._news.extend(news)
        for uid in [uid for uid in list(self._told) if picture.pod_group(uid) is None]:
            self._told.pop(uid, None)
            self._again.pop(uid, None)

    def _patience(self, uid: str, verdict: Verdict) -> float:
        """From when on to tell a verdict: the pods of a new pod group come one by one."""
        if verdict.code != NOT_READY or uid in self._told:
            return 0.0
        before = self._wanted.get(uid)
        if before is not None and before.verdict.code == NOT_READY:
            return before.not_before
        return time.monotonic() + QUIET_SECONDS

    def run(self) -> None:
        """Write what is to be told until stopped."""
        while not self._stopped.wait(_LOOK_SECONDS):
            self._write_due()

    def stop(self) -> None:
        """Let `run` return after the write that is under way."""
        self._stopped.set()

    def _write_due(self) -> None:
        with self._changing:
            news, due = list(self._news), {u: w for u, w in self._wanted.items() if self._is_due(u, w)}
            self._news.clear()
            for uid in due:
                del self._wanted[uid]
        for one in news:
            self._try(lambda one=one: self._tell_news(one))  # type: ignore[misc]
        for uid, wanted in due.items():
            if self._stopped.is_set():
                return
            before = self._told.get(uid)
            if before is None or before[0][:2] != wanted.verdict[:2]:
                self._tell_verdict(uid, wanted)

    def _is_due(self, uid: str, wanted: _Wanted) -> bool:
        before, now = self._told.get(uid), time.monotonic()
        if now < max(wanted.not_before, self._again.get(uid, now)):
            return False
        return before is None or not wanted.verdict.reason or now >= before[1] + QUIET_SECONDS

    def _tell_verdict(self, uid: str, wanted: _Wanted) -> None:
        self._again.pop(uid, None)
        before = self._told.get(uid)
        self._told[uid] = (wanted.verdict, time.monotonic())
        subject = wanted.subject
        is_told = self._tell_pods(wanted) if wanted.verdict.reason else True
        if subject is not None:
            is_told &= self._try(lambda: self._put_subject(subject, wanted.verdict))
        if not is_told:
            self._put_off(uid, wanted, before)

    def _tell_pods(self, wanted: _Wanted) -> bool:
        """Whether all pods that wait say so by now, but for those that never will."""
        pods = filter(None, map(self._mirrors.pods.find, wanted.pods))
        silent = [pod for pod in pods if _waits(pod) and not says(pod, wanted.verdict)]
        told = [self._try(lambda pod=pod: self._put_pod(pod, wanted.verdict)) for pod in silent]  # type: ignore[misc]
        return all(told)

    def _put_off(self, uid: str, wanted: _Wanted, before: tuple[Verdict, float] | None) -> None:
        """Tell a verdict later, as if it had not been tried."""
        if before is None:
            self._told.pop(uid, None)
        else:
            self._told[uid] = before
        with self._changing:
            self._wanted.setdefault(uid, wanted)
            self._again[uid] = time.monotonic() + QUIET_SECONDS

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
        conditions = there.status.get(field) or []
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

    def _tell_news(self, news: News) -> None:
        about, key, reason, note, action, is_counted = news
        if is_counted:
            self._events.tell(about, key, reason, note, action, is_warning=True)
        else:
            self._events.tell_once(about, key, reason, note, action)

    def _is_ours(self, condition: dict[str, Any], is_kai: bool) -> bool:
        if is_kai:
            return bool(condition.get("nodePool") == (self._node_pool or "default"))
        return condition.get("type") in (UNSCHEDULABLE, "Scheduled")

    def _try(self, write: Callable[[], None]) -> bool:
        """Whether it was written, or never will be."""
        try:
            write()
        except LeaseLost:
            return False
        except ApiFailure as failure:
            _LOG.info("Not told: %s", failure)
            return isinstance(failure, NotFound | Refused)
        except Exception as odd:  # an object that others filled oddly must not keep the rest from being told
            _LOG.warning("Not told: %r", odd)
        return True


def _waits(pod: Pod) -> bool:
    return (
        not pod.spec.node_name and pod.metadata.deletion_timestamp is None and not pod.spec.scheduling_gates
    )
