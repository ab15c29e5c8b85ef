"""In-flight groups for generated snapshots, with existing, missing and invalid targets."""

from typing import Final

from tenure.v1 import snapshot_pb2 as pb

from tests.properties.generators.draw import Draw

KINDS: Final = ("evictions", "reservations", "bindings")


def add_in_flight(draw: Draw, snapshot: pb.ClusterSnapshot, name: str) -> None:
    """Add a group for a random pod group, with up to three decisions of each kind."""
    beneficiary = draw.choice(snapshot.pod_groups).uid if draw.chance(95) else "gone"
    group = snapshot.in_flight_groups.add(id=name, action="reclaim", beneficiary=beneficiary)
    group.expire_time.seconds = snapshot.now.seconds + draw.choice((300, 200, 100, 1, 0, -5))
    waiting = [pod for pod in snapshot.pods if pod.pod_group == beneficiary]
    for kind in KINDS:
        for _ in range(draw.integer(0, 3)):
            pods = snapshot.pods if kind == "evictions" or not waiting or draw.chance(20) else waiting
            _add_step(draw, snapshot, getattr(group, kind), draw.choice(pods))


def _add_step(
    draw: Draw, snapshot: pb.ClusterSnapshot, steps: list[pb.InFlightDecision], pod: pb.Pod
) -> None:
    node = pod.node or draw.choice(snapshot.nodes).name
    step = pb.InFlightDecision(pod=pod.uid, node=node, pod_group=pod.pod_group, gpu_groups=pod.gpu_groups)
    if draw.chance(10):
        step.node = draw.choice((draw.choice(snapshot.nodes).name, "gone"))
    if draw.chance(10):
        step.pod = f"{pod.uid}-before"
    steps.append(step)
