"""Rows that `tenure simulate --without` removes, with everything that depends on them."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import typer
from tenure.cli.options import pod_group, unknown_name_message

if TYPE_CHECKING:
    from tenure.v1.simulate_pb2 import SimulateRequest

HINT: Final = "--without"


def remove(request: "SimulateRequest", what: Iterable[str]) -> None:
    """Remove objects from the snapshot, with everything that depends on them.

    A pod group is removed with its pods. Pods of a removed node become pending.
    """
    for each in what:
        kind, equals, key = each.partition("=")
        if not equals or kind not in _KINDS:
            raise typer.BadParameter(
                f"{each!r} is not KIND=KEY with a kind of {', '.join(_KINDS)}", param_hint=HINT
            )
        _KINDS[kind](request, key)


def _remove_node(request: "SimulateRequest", name: str) -> None:
    from tenure.v1.snapshot_pb2 import POD_STATUS_PENDING

    _require("node", name, (node.name for node in request.snapshot.nodes))
    request.removals.nodes.append(name)
    changed = {pod.uid for pod in request.upserts.pods}
    for pod in request.snapshot.pods:
        if pod.node == name and pod.uid not in changed:
            waiting = request.upserts.pods.add()
            waiting.CopyFrom(pod)
            waiting.status = POD_STATUS_PENDING
            for field in ("node", "gpu_groups", "numa_placement"):
                waiting.ClearField(field)


def _remove_queue(request: "SimulateRequest", name: str) -> None:
    _require("queue", name, (queue.name for queue in request.snapshot.queues))
    request.removals.queues.append(name)


def _remove_pod_group(request: "SimulateRequest", name: str) -> None:
    uid = pod_group(request.snapshot, name, HINT).uid
    request.removals.pod_groups.append(uid)
    request.removals.pods.extend(pod.uid for pod in request.snapshot.pods if pod.pod_group == uid)


def _remove_pod(request: "SimulateRequest", uid: str) -> None:
    _require("pod", uid, (pod.uid for pod in request.snapshot.pods))
    request.removals.pods.append(uid)


def _require(kind: str, key: str, known: Iterable[str]) -> None:
    names = set(known)
    if key not in names:
        raise typer.BadParameter(unknown_name_message(kind, key, names), param_hint=HINT)


_KINDS: Final[dict[str, Callable[["SimulateRequest", str], None]]] = {
    "node": _remove_node,
    "queue": _remove_queue,
    "pod_group": _remove_pod_group,
    "pod": _remove_pod,
}
"""Kinds of objects that can be removed."""
