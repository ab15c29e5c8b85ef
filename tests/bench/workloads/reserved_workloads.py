"""Workloads with planned starts that stand, and with a history of use."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from google.protobuf.duration_pb2 import Duration
from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.bench.workloads.case import Case
from tests.bench.workloads.published_workloads import THREE
from tests.bench.workloads.snapshot_fixture import GPUS, MINUTE_S, SnapshotFixture

OWNERS: Final = 10
"""Jobs with a reservation beside another workload."""
PLAIN: Final = ("W8@50", "W8@100", "W9@50", "W9@100", "U3@500", "U4@20", "U4@100")
LONG_AGO: Final = 10_000_000
"""Seconds for which owners have waited longer than the jobs of the other workload."""
WAITING: Final = 10_000
HISTORY: Final = PluginConfig("proportion", {"usageHalfLife": "7d"})


def reserved_workloads(plain: Iterable[Case]) -> Iterator[Case]:
    """W8, W9, U3 and U4 beside ten reservations; a hundred reservations; ten thousand jobs that wait."""
    for case in plain:
        if case.name in PLAIN:
            actions = ("reservation", *case.actions)
            added = {
                "plugins": (
                    HISTORY,
                    _reserves(OWNERS, f"{LONG_AGO}s"),
                ),
                "options": case.options,
            }
            build = _beside(case.build)
            yield _standing(Case(f"{case.workload}v", case.size, build, actions, None, THREE, **added))  # type: ignore[arg-type]
    hundred = _reserves(100, per_queue=1)
    for name, queues, jobs, plugin in (
        ("V1", 100, 100, hundred),
        ("V2", 10, WAITING, _reserves(8, per_queue=1)),
    ):
        build = partial(_behind_ends, 1_000, queues, jobs)
        yield _standing(Case(name, 1_000, build, ("allocate", "reservation"), None, THREE, plugins=(plugin,)))


def _reserves(number: int, min_wait: str = "0s", per_queue: int | None = None) -> PluginConfig:
    """This many reservations, of which a queue has any number."""
    arguments = {"total": number, "perQueue": per_queue or number, "minWait": min_wait, "maxFraction": 1}
    return PluginConfig("reservation", {name: str(value) for name, value in arguments.items()})


def _standing(case: Case) -> Case:
    """A minute after its first cycle."""
    return Case(
        case.workload,
        case.size,
        partial(_after_a_cycle, case.build, case.profile),
        case.actions,
        None,
        case.ways,
        case.options,
        plugins=case.plugins,
    )


def _after_a_cycle(build: Callable[[], ClusterSnapshot], profile: Profile) -> ClusterSnapshot:
    """What a cycle stores is in the snapshot; nothing that it decided is carried out."""
    snapshot = build()
    response = Engine(profile).decide(DecideRequest(snapshot=snapshot, actions=profile.actions)).parse()
    snapshot.planned_starts.extend(response.planned_starts)
    for patch in response.state_patches:
        if patch.HasField("set_queue_usage"):
            snapshot.queue_usage.append(patch.set_queue_usage)
    snapshot.now.seconds += MINUTE_S
    return snapshot


def _beside(build: Callable[[], ClusterSnapshot]) -> Callable[[], ClusterSnapshot]:
    return lambda: with_owners(build())


def with_owners(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Ten more nodes for jobs of their own, each with one of two hours, and an old one that waits for it."""
    fixture = SnapshotFixture(0)
    fixture.queue("annex", snapshot.queues[0].name, OWNERS * GPUS)
    shape = fixture.shape("annex", GPUS)
    shape.node_selector["pool"] = "annex"
    shape.tolerations.add(key="annex", exists=True)
    first = len(snapshot.nodes)
    for number in range(OWNERS):
        node = snapshot.nodes.add()
        node.CopyFrom(snapshot.nodes[0])
        node.name = f"node{first + number}"
        node.labels["pool"] = "annex"
        node.taints.add(key="annex", effect=pb.TAINT_EFFECT_NO_SCHEDULE)
        runs = fixture.job(f"annex-{number}", "annex", on=(first + number,), shape="annex")
        runs.time_limit.CopyFrom(Duration(seconds=2 * 3_600 + number))
        runs.preemptibility = pb.PREEMPTIBILITY_NON_PREEMPTIBLE
        fixture.job(f"owner-{number}", "annex", shape="annex")
    added = fixture.build()
    for group in added.pod_groups:
        group.creation_time.seconds -= LONG_AGO
    for rows in ("queues", "shapes", "pod_groups", "pods"):
        getattr(snapshot, rows).extend(getattr(added, rows))
    return snapshot


def _behind_ends(nodes: int, queues: int, jobs: int) -> ClusterSnapshot:
    """A full cluster whose jobs end one after the other, and jobs of whole nodes that wait."""
    fixture = SnapshotFixture(nodes)
    fixture.queue("default")
    for number in range(queues):
        fixture.queue(f"queue-{number:03}", "default", nodes * GPUS / queues)
    for number in range(nodes):
        runs = fixture.job(f"runs-{number}", f"queue-{number % queues:03}", 1, GPUS, on=(number,))
        runs.time_limit.CopyFrom(Duration(seconds=3_600 + number))
        runs.preemptibility = pb.PREEMPTIBILITY_NON_PREEMPTIBLE
    for number in range(jobs):
        fixture.job(f"waits-{number}", f"queue-{number % queues:03}", 1, GPUS)
    return fixture.build()
