"""`--without KIND=KEY`: what goes when something is taken away from a cluster."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import typer
from tenure.server.cli.matching import pod_group, unknown

if TYPE_CHECKING:
    from tenure.v1.simulate_pb2 import SimulateRequest

HINT: Final = "--without"


def take_away(request: "SimulateRequest", what: Iterable[str]) -> None:
    """Remove each from the snapshot of the request, with all that cannot be there without it.

    A pod group goes with its pods; pods of a node that goes wait again.
    """
    for each in what:
        kind, equals, key = each.partition("=")
        if not equals or kind not in _KINDS:
            raise typer.BadParameter(
                f"{each!r} is not KIND=KEY with a kind of {', '.join(_KINDS)}", param_hint=HINT
            )
        _KINDS[kind](request, key)


def _without_node(request: "SimulateRequest", name: str) -> None:
    from tenure.v1.snapshot_pb2 import POD_STATUS_PENDING

    _demand("node", name, (node.name for node in request.snapshot.nodes))
    request.removes.nodes.append(name)
    changed = {pod.uid for pod in request.upserts.pods}
    for pod in request.snapshot.pods:
        if pod.node == name and pod.uid not in changed:
            waiting = request.upserts.pods.add()
            waiting.CopyFrom(pod)
            waiting.status = POD_STATUS_PENDING
            for field in ("node", "gpu_groups", "numa_placement"):
                waiting.ClearField(field)


def _without_queue(request: "SimulateRequest", name: str) -> None:
    _demand("queue", name, (queue.name for queue in request.snapshot.queues))
    request.removes.queues.append(name)


def _without_pod_group(request: "SimulateRequest", name: str) -> None:
    uid = pod_group(request.snapshot, name, HINT).uid
    request.removes.pod_groups.append(uid)
    request.removes.pods.extend(pod.uid for pod in request.snapshot.pods if pod.pod_group == uid)


def _without_pod(request: "SimulateRequest", uid: str) -> None:
    _demand("pod", uid, (pod.uid for pod in request.snapshot.pods))
    request.removes.pods.append(uid)


def _demand(kind: str, key: str, known: Iterable[str]) -> None:
    names = set(known)
    if key not in names:
        raise typer.BadParameter(unknown(kind, key, names), param_hint=HINT)


_KINDS: Final[dict[str, Callable[["SimulateRequest", str], None]]] = {
    "node": _without_node,
    "queue": _without_queue,
    "pod_group": _without_pod_group,
    "pod": _without_pod,
}
"""What may be taken away."""
