"""Outcomes of pending pod groups as conditions of pods and pod groups.

`Unschedulable` makes autoscalers add nodes. It is set only for a pod group that cannot run on the cluster as
it is or lacks capacity, and for one whose queue is over its fair share: idle resources are allocated
regardless of fair shares, so there are none, and another node would help. Waiting for quota, victims or time
has reasons of its own. An exhausted search budget is not a final result.

Users of the namespace read conditions, so these name no pod group or queue of others. Details of guards name
the pod groups that they protect; conditions have the clause of the reason code instead.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tenure.client.public_messages import format_public_message
from tenure.kubernetes.limits.set_aside import SetAsideReason
from tenure.kubernetes.limits.volume_waits import VolumeWait
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.pod import Pod
from tenure.terms.custom_reason import condition_name
from tenure.terms.reason_class import ReasonClass
from tenure.terms.reasons import REASONS, ReasonCode
from tenure.v1 import decision_pb2 as pb
from tenure.v1.snapshot_pb2 import Pod as PodRow

UNSCHEDULABLE: Final = "Unschedulable"
NOT_READY: Final = "NotReady"
"""Reason code of pod groups with fewer pods than their minimum."""
WAITING_FOR_VOLUME: Final = "WaitingForVolume"
"""Reason and code of pod groups with a pod whose volume claim is not bound, or cannot be used now."""
_NAMES_OBJECT: Final = (WAITING_FOR_VOLUME, "Blocked")
"""Codes whose messages name the object that a pod waits for."""
SCHEDULED: Final = "Scheduled"
"""Type of the condition that is true once a pod group is bound."""
INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
NATIVE_SCHEDULED: Final = "PodGroupScheduled"
NATIVE_CONDITIONS: Final = (INITIALLY_SCHEDULED, NATIVE_SCHEDULED)
"""Types of the same condition of pod groups of Kubernetes itself: since 1.37, and in 1.36."""
_KAI_TYPE: Final = "UnschedulableOnNodePool"
_DEFAULT_POOL: Final = "default"
_MAX_LENGTH: Final = 1024
_SHOWN: Final = ("type", "status", "reason", "nodePool")
_LACK_CAPACITY: Final = (pb.OUTCOME_KIND_INFEASIBLE, pb.OUTCOME_KIND_WAITING_FOR_CAPACITY)
"""Another node may help."""

_ESTIMATE: Final = " Estimate: "
"""Before the sentence about place and start in a message."""

RELEASE: Final = (
    f"To release it, remove the annotation {names.HOLD}, or set {names.RELEASED} to the current time "
    "(date -u +%FT%TZ), on the pod group or its owner."
)
"""The way out of a hold."""


class SchedulingCondition(NamedTuple):
    """The condition of a pending or scheduled pod group."""

    reason: str
    """Reason of the pod condition; "": the pod group is bound."""
    code: str
    """The reason code in camel case, like NonPreemptibleOverQuota; one of another package begins with the
    name of its plugin or action.
    """
    message: str
    stands: bool = False
    """Whether it holds until something changes."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What is written when it changes. Messages change with every cycle, unless an object is missing;
        an estimate changes with what it says.
        """
        return self.reason, self.code, _lasting(self.code, self.message)

    def with_estimate(self, sentence: str) -> "SchedulingCondition":
        """Condition with a sentence about place and start of a pod group that waits (semantics R17.24)."""
        if not sentence or not self.reason:
            return self
        message = self.message[: _MAX_LENGTH - len(_ESTIMATE) - len(sentence)]
        return self._replace(message=f"{message}{_ESTIMATE}{sentence}")


def build_condition(outcome: pb.PodGroupOutcome) -> SchedulingCondition | None:
    """The condition of an outcome; None: unchanged."""
    row = REASONS.get(outcome.reason.code)
    code, message = "Unspecified" if row is None else camel(row.code.name), _message(outcome.reason)
    custom = outcome.reason.custom
    code = condition_name(custom.domain, custom.code) or code
    if outcome.kind == pb.OUTCOME_KIND_BOUND:
        return SchedulingCondition("", code, message)
    condition, stands = _standing(outcome)
    return SchedulingCondition(condition, code, message, stands) if condition else None


def volume_condition(message: str, *, stands: bool) -> SchedulingCondition:
    """The condition of a pod group with a pod that waits for a volume.

    No other node would help, so it is not `Unschedulable`.
    """
    return SchedulingCondition(WAITING_FOR_VOLUME, WAITING_FOR_VOLUME, message[:_MAX_LENGTH], stands)


def volume_wait_conditions(
    waits: Mapping[str, VolumeWait], find_row: Callable[[str], PodRow | None]
) -> dict[str, SchedulingCondition]:
    """Conditions of pod groups whose volumes are being bound, by uid. `waits` is by uid of a pod."""
    found: dict[str, SchedulingCondition] = {}
    for pod, wait in sorted(waits.items()):
        if (row := find_row(pod)) is not None:
            message = f"Pod {row.name} is assigned to node {wait.node} and waits: {wait.reason}."
            found.setdefault(row.pod_group, volume_condition(message, stands=False))
    return found


def _message(reason: pb.Reason) -> str:
    """The sentence of a reason, without names of others."""
    row = REASONS.get(reason.code)
    if row is None:
        return format_public_message(reason)
    if row.code is ReasonCode.HELD:
        return f"{reason.message[:_MAX_LENGTH]} {RELEASE}"[:_MAX_LENGTH]
    if row.reason_class is not ReasonClass.PROTECTION and not reason.custom.clause:
        return reason.message[:_MAX_LENGTH]
    subject = reason.message.removesuffix(f": {reason.detail}.")
    if not reason.detail or subject == reason.message:
        return format_public_message(reason)
    clause = reason.custom.clause or row.clause or REASONS[ReasonCode.PROTECTED].clause
    return f"{subject[:_MAX_LENGTH]}: {clause}."[:_MAX_LENGTH]


def set_aside_condition(reason: SetAsideReason) -> SchedulingCondition:
    """The condition of an object that is set aside."""
    message = f"Not scheduled: {reason.text}"[:_MAX_LENGTH]
    return SchedulingCondition(reason.code, reason.code, message, stands=True)


def _standing(outcome: pb.PodGroupOutcome) -> tuple[str, bool]:
    """Reason of the pod condition, and whether it stands. An unknown code counts as its outcome kind."""
    row = REASONS.get(outcome.reason.code)
    if row is None:
        if outcome.kind == pb.OUTCOME_KIND_BUDGET_EXHAUSTED:
            return REASONS[ReasonCode.BUDGET_EXHAUSTED].condition, False
        lacks_capacity = outcome.kind in _LACK_CAPACITY
        kind = camel(pb.OutcomeKind.Name(outcome.kind).removeprefix("OUTCOME_KIND_"))
        return (UNSCHEDULABLE if lacks_capacity else kind), lacks_capacity
    if row.reason_class is ReasonClass.PROTECTION and outcome.kind in _LACK_CAPACITY:
        return UNSCHEDULABLE, True
    return row.condition, row.stands


def camel(name: str) -> str:
    """Convert INSUFFICIENT_RESOURCES to InsufficientResources."""
    return "".join(part.capitalize() for part in name.split("_"))


def pod_condition(condition: SchedulingCondition) -> dict[str, Any]:
    """Condition PodScheduled=False of a pod."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": format_now(),
    }


def kai_condition(
    condition: SchedulingCondition, node_pool: str, before: Mapping[str, Any]
) -> dict[str, Any]:
    """Scheduling condition of a KAI pod group."""
    return {
        "type": _KAI_TYPE,
        "nodePool": node_pool or _DEFAULT_POOL,
        "status": "True" if condition.stands else "False",
        "reason": condition.reason or "Scheduled",
        "message": condition.message,
        "reasons": [{"reason": condition.code, "message": condition.message}],
        "transitionID": _next_transition(before),
        "lastTransitionTime": format_now(),
    }


def plain_condition(condition: SchedulingCondition, before: Mapping[str, Any]) -> dict[str, Any]:
    """Condition of a KAI pod group that kubectl can wait for, beside its scheduling condition."""
    return {
        "type": SCHEDULED,
        "status": "False" if condition.reason else "True",
        "reason": condition.code,
        "message": condition.message,
        "transitionID": _next_transition(before),
        "lastTransitionTime": format_now(),
    }


def volcano_condition(condition: SchedulingCondition, before: Mapping[str, Any]) -> dict[str, Any]:
    """Condition of a Volcano pod group."""
    return {
        "type": UNSCHEDULABLE if condition.reason == UNSCHEDULABLE else SCHEDULED,
        "status": "False" if condition.reason and condition.reason != UNSCHEDULABLE else "True",
        "reason": condition.code,
        "message": condition.message,
        "transitionID": _next_transition(before),
        "lastTransitionTime": format_now(),
    }


def native_condition(
    condition: SchedulingCondition, kind: str, before: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Condition of a pod group of Kubernetes itself; None: it does not change.

    `PodGroupInitiallyScheduled` never becomes false again.
    """
    fresh = {
        "type": kind,
        "status": "False" if condition.reason else "True",
        "reason": condition.code,
        "message": condition.message,
        "lastTransitionTime": format_now(),
    }
    is_final = kind == INITIALLY_SCHEDULED and before.get("status") == "True"
    is_reported = _lasting(condition.code, before.get("message")) == condition.key[-1]
    if is_final or (is_reported and is_same(before, fresh)):
        return None
    if before.get("status") == fresh["status"] and before.get("lastTransitionTime"):
        fresh["lastTransitionTime"] = before["lastTransitionTime"]
    return fresh


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two conditions are equal, except for time and for messages that name no object."""
    lasting = [_lasting(str(each.get("reason", "")), each.get("message")) for each in (one, other)]
    is_reported = lasting[0] == lasting[1]
    return (
        is_reported
        and all(one.get(key) == other.get(key) for key in _SHOWN)
        and [_key(reason) for reason in one.get("reasons", [])]
        == [_key(reason) for reason in other.get("reasons", [])]
    )


def _key(reason: Mapping[str, Any]) -> tuple[str, str]:
    """The code, and what its message says for longer than a cycle."""
    code = str(reason.get("reason", ""))
    return code, _lasting(code, reason.get("message"))


def _lasting(code: str, message: object) -> str:
    """What a message says for longer than a cycle: the object that is missing, or the estimate."""
    text = str(message or "")
    return text if code in _NAMES_OBJECT else text.partition(_ESTIMATE)[2]


def has_condition(pod: Pod, condition: SchedulingCondition) -> bool:
    """Whether a pod has the condition."""
    return any(
        (one.type, one.status, one.reason, one.message)
        == ("PodScheduled", "False", condition.reason, condition.message)
        for one in pod.status.conditions
    )


def _next_transition(before: Mapping[str, Any]) -> str:
    text = str(before.get("transitionID", ""))
    return str(int(text) + 1) if text.isascii() and text.isdecimal() and len(text) < _MOST_DIGITS else "1"


_MOST_DIGITS: Final = 18


def format_now() -> str:
    """The time of a condition."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
