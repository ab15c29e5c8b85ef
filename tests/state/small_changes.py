"""Long sequences of small workload changes: rows are added, moved and removed anywhere in the order."""

from hashlib import sha256
from typing import Final

from tenure.v1 import snapshot_pb2 as pb

from tests.properties.generators.draw import Draw
from tests.state.generated_snapshots import NOW_S, add_group, generate_next_workloads, generate_snapshot


def first_snapshot(draw: Draw) -> pb.ClusterSnapshot:
    """A small cluster without resource claims, because claims link pods."""
    snapshot = without_claims(generate_snapshot(draw, draw.integer(1, 4), draw.integer(1, 30)))
    if draw.chance(60):
        del snapshot.eviction_history[:]
    return snapshot


def next_snapshot(draw: Draw, snapshot: pb.ClusterSnapshot) -> pb.ClusterSnapshot:
    """The next snapshot. Uids, and sometimes ages, of new pod groups are anywhere among the others."""
    after = without_claims(generate_next_workloads(draw, snapshot))
    for number in range(draw.integer(0, 3)):
        uid = sha256(f"{after.version} {number}".encode()).hexdigest()[:8]
        add_group(draw, after, draw.choice((uid, f"group-{uid}")), after.version)
        after.pod_groups[-1].creation_time.seconds = NOW_S - draw.integer(0, 90_000)
    return without_claims(after)


def without_claims(snapshot: pb.ClusterSnapshot) -> pb.ClusterSnapshot:
    """Copy of a snapshot without resource claims."""
    del snapshot.resource_claims[:]
    for pod in snapshot.pods:
        del pod.resource_claims[:]
    return snapshot


STEPS: Final = 12
