"""What came of steps since it was last looked, as events: what was done, and evictions that are refused.

A refused eviction is told about the pod group that waits for it: its conditions say that it waits for
victims, and nothing else would say why that takes so long.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tenure.client.kubernetes.apply.events import Regarding
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.objects.pod import Pod
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.observe.picture import Picture
from tenure.v1.decision_pb2 import Decision
from tenure.v1.outcome_pb2 import STEP_RESULT_APPLIED, STEP_RESULT_FAILED, StepReport

REFUSED: Final = "EvictionRefused"


class News(NamedTuple):
    """An event that is to be told."""

    about: Regarding
    key: str
    reason: str
    note: str
    action: str
    is_counted: bool
    """Told again it is counted up; else it is told once."""


class Progress:
    """For one thread."""

    def __init__(self, mirrors: Mirrors) -> None:
        self._pods = mirrors.pods
        self._seen: dict[str, StepReport] = {}
        """What came of each step of groups under way, by decision."""

    def news(self, entries: Iterable[Entry], picture: Picture) -> list[News]:
        """What is new of the groups that are under way; what was looked at once is not news."""
        before, self._seen = self._seen, {}
        found: list[News | None] = []
        for entry in entries:
            self._seen.update(entry.steps)
            for decision in entry.group.decisions:
                step = entry.steps.get(decision.id)
                if step is not None and step != before.get(decision.id):
                    found.append(self._news_of(entry, decision, step, picture))
        return [one for one in found if one is not None]

    def _news_of(self, entry: Entry, decision: Decision, step: StepReport, picture: Picture) -> News | None:
        pod = self._pods.find(decision.bind.pod or decision.evict.pod)
        if pod is None:
            return None
        if step.result == STEP_RESULT_APPLIED:
            return _done(decision, pod)
        if step.result == STEP_RESULT_FAILED and decision.HasField("evict"):
            about = self._who_waits(entry.group.beneficiary, picture)
            note = f"Pod {pod.metadata.namespace}/{pod.metadata.name} is not evicted: {step.detail}"
            return about and News(about, f"{REFUSED} {pod.metadata.uid}", REFUSED, note, "Evicting", True)
        return None

    def _who_waits(self, pod_group: str, picture: Picture) -> Regarding | None:
        """The pod group, or the first pod of a derived one."""
        subject = picture.subject(pod_group)
        if subject is not None:
            return Regarding(*subject)
        pods = map(self._pods.find, picture.pods_of(pod_group))
        return next((_regarding(pod) for pod in pods if pod is not None), None)


def _done(decision: Decision, pod: Pod) -> News:
    is_binding = decision.HasField("bind")
    reason, action = ("Scheduled", "Binding") if is_binding else ("Evicted", "Evicting")
    note = f"Bound to {decision.bind.node}." if is_binding else decision.reason.message
    return News(_regarding(pod), decision.id, reason, note, action, is_counted=False)


def _regarding(pod: Pod) -> Regarding:
    meta = pod.metadata
    return Regarding("v1", "Pod", meta.namespace, meta.name, meta.uid)
