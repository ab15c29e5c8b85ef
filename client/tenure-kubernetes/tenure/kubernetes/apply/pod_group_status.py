"""The conditions of pod groups.

    KAI       condition Scheduled, which `kubectl wait` finds, and the scheduling condition of the node pool
    Volcano   condition Scheduled or Unschedulable
    native    condition PodGroupInitiallyScheduled, or PodGroupScheduled in Kubernetes 1.36

Server-side apply treats all conditions of KAI and Volcano objects as one value, so those of others are read
and kept.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from tenure.kubernetes.api.transport import LeaderTransport
from tenure.kubernetes.apply.annotations import path
from tenure.kubernetes.apply.conditions import (
    INITIALLY_SCHEDULED,
    NATIVE_SCHEDULED,
    SCHEDULED,
    UNSCHEDULABLE,
    SchedulingCondition,
    is_same,
    kai_condition,
    native_condition,
    plain_condition,
    volcano_condition,
)
from tenure.kubernetes.apply.server_side_apply import apply_fields
from tenure.kubernetes.objects.meta import ObjectReference
from tenure.kubernetes.observe.native_pod_groups import API as NATIVE

MANAGER: Final = "tenure-status"
"""Field manager of conditions. Some objects have annotations beside them, under another manager."""


_FIRST_VERSION: Final = "v1alpha2"
"""The version of Kubernetes 1.36."""


class _Object(msgspec.Struct):
    metadata: dict[str, Any] = {}
    status: dict[str, Any] = {}


class _Conditions(NamedTuple):
    ours: dict[str, Any]
    """The condition of the adapter; empty: there is none."""
    others: list[dict[str, Any]]


class PodGroupStatusWriter:
    """Writes the conditions of one node pool."""

    def __init__(self, transport: LeaderTransport, node_pool: str) -> None:
        self._transport, self._node_pool = transport, node_pool

    def write(self, subject: ObjectReference, condition: SchedulingCondition) -> bool:
        """Replace the adapter's conditions, if they changed. Returns whether they did. Raises ApiError."""
        there = msgspec.json.decode(self._transport.get(path(subject)), type=_Object)
        where = f"{path(subject)}/status"
        match subject.api_version.partition("/"):
            case ("scheduling.run.ai", _, _):
                status = self._kai_status(there, condition)
            case (group, _, version) if group == NATIVE:
                status = self._native_status(there, condition, version)
            case _:
                status, where = self._volcano_status(there, condition), path(subject)
        if there.metadata.get("uid") != subject.uid or not status:
            return False
        version = there.metadata.get("resourceVersion", "")
        apply_fields(self._transport, where, MANAGER, subject, version, status=status)
        return True

    def _kai_status(self, there: _Object, condition: SchedulingCondition) -> dict[str, Any]:
        """The scheduling condition of the node pool, and the one that kubectl can wait for; empty: unchanged.

        A pod group that was never pending for long has no scheduling condition.
        """
        pool = self._node_pool or "default"
        of_pools = _split(there.status.get("schedulingConditions"), "nodePool", (pool,))
        plain = _split(there.status.get("conditions"), "type", (SCHEDULED,))
        of_pool = kai_condition(condition, self._node_pool, of_pools.ours)
        scheduled = plain_condition(condition, plain.ours)
        is_needed = bool(of_pools.ours or condition.reason)
        if is_same(plain.ours, scheduled) and (is_same(of_pools.ours, of_pool) or not is_needed):
            return {}
        status: dict[str, Any] = {"conditions": [*plain.others, scheduled]}
        if is_needed:
            status["schedulingConditions"] = [*of_pools.others, of_pool]
        return status

    def _volcano_status(self, there: _Object, condition: SchedulingCondition) -> dict[str, Any]:
        found = _split(there.status.get("conditions"), "type", (UNSCHEDULABLE, SCHEDULED))
        fresh = volcano_condition(condition, found.ours)
        return {} if is_same(found.ours, fresh) else {"conditions": [*found.others, fresh]}

    def _native_status(self, there: _Object, condition: SchedulingCondition, version: str) -> dict[str, Any]:
        """The condition alone: each one has an own writer."""
        kind = NATIVE_SCHEDULED if version == _FIRST_VERSION else INITIALLY_SCHEDULED
        found = _split(there.status.get("conditions"), "type", (kind,))
        fresh = native_condition(condition, kind, found.ours)
        return {} if fresh is None else {"conditions": [fresh]}


def _split(conditions: list[dict[str, Any]] | None, key: str, values: Sequence[str]) -> _Conditions:
    """Conditions of the adapter, by a key of theirs, and those of others."""
    there = conditions or []
    ours = next((one for one in there if one.get(key) in values), {})
    return _Conditions(ours, [one for one in there if one.get(key) not in values])
