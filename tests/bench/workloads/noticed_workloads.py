"""Workloads whose victims get notice before they are evicted."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from google.protobuf.duration_pb2 import Duration
from tenure.client.in_flight import track_group
from tenure.codec.engine import Engine
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.bench.workloads.budgeted_workloads import ASKS, PODS, crowded
from tests.bench.workloads.case import CallMode, Case, DecisionCounts
from tests.bench.workloads.published_workloads import THREE
from tests.bench.workloads.snapshot_fixture import GPUS

NOTICE: Final = Duration(seconds=120)
OPTIONS: Final = {"max_notice": 3_600 * SECOND}


def noticed_workloads(plain: Iterable[Case]) -> Iterator[Case]:
    """W8, W9 and U4 with notice of every pod group; many notices given at once, and as many that stand."""
    for case in plain:
        if case.name in ("W8@100", "W9@100", "U4@100"):
            name, build = f"{case.workload}n", _with_notice(case.build)
            yield Case(name, case.size, build, case.actions, None, THREE, {**case.options, **OPTIONS})
    kinds = {"WAITING_FOR_VICTIMS": ASKS}
    given = DecisionCounts(0, ASKS, 0, kinds)
    first = Case("U9", PODS // GPUS, _with_notice(crowded), ("reclaim",), given, THREE, OPTIONS)
    yield first
    stands = replace(first, workload="U9s", build=lambda: _standing(first))
    # Not warm: the job that replaces another one there has no notices yet.
    yield replace(stands, expected=given._replace(reserved=0), ways=(CallMode.DECIDE, CallMode.COLD))


def _with_notice(build: Callable[[], ClusterSnapshot]) -> Callable[[], ClusterSnapshot]:
    def build_with_notice() -> ClusterSnapshot:
        snapshot = build()
        for group in snapshot.pod_groups:
            group.notice.CopyFrom(NOTICE)
        return snapshot

    return build_with_notice


def _standing(first: Case) -> ClusterSnapshot:
    """A minute after the notices of another case: they are in flight, and not due."""
    snapshot = first.build()
    request = DecideRequest(snapshot=snapshot, actions=first.actions)
    response = Engine(first.profile).decide(request).parse()
    snapshot.in_flight_groups.extend([track_group(group) for group in response.groups])
    snapshot.now.seconds += 60
    return snapshot
