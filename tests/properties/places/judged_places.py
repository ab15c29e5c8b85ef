"""One cycle on a random snapshot, beside the most GPUs that could start without taking a pod from any."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple

from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.places.most_gpus import FreePlaces, NotProven, Places, most_gpus
from tests.properties.places.waiting_pods import waiting_snapshot

REPLACED: Final = ("nodeplacement", "gpusharingorder")


class Placing(StrEnum):
    """What chooses nodes."""

    DEFAULT = "default"
    FRAGMENTATION = "fragmentation"
    FIRST = "first"
    """The first nodes that take pods, as in the reference scheduler."""

    @property
    def profile(self) -> Profile:
        """The default profile with it."""
        default = default_profile()
        if self is Placing.DEFAULT:
            return default
        if self is Placing.FIRST:
            return replace(default, options=replace(default.options, max_repacking_looks=0))
        others = [each for each in default.plugins if each.name not in REPLACED]
        return replace(default, plugins=(*others, PluginConfig("fragmentation")))


class Judged(NamedTuple):
    """One seed, in GPUs. `most` None: it was not proven."""

    seed: int
    free: int
    started: int
    most: int | None
    certified: int
    """What starts if the pods of the best choice have its nodes as nominated nodes."""


def judge(placing: Placing, seed: int) -> Judged:
    """Decide on the snapshot of a seed, and prove the most GPUs."""
    snapshot = waiting_snapshot(seed)
    places = FreePlaces(snapshot)
    given = started_pods(engine(placing), snapshot)
    started = places.gpus(given)
    try:
        best = most_gpus(places, given)
    except NotProven:
        return Judged(seed, places.free_gpus, started, None, started)
    group_of = {pod.uid: pod.pod_group for pod in snapshot.pods}
    most = places.gpus(Counter(group_of[pod] for pod in best))
    certified = started
    if most > started:
        certified = places.gpus(started_pods(engine(Placing.FIRST), nominated(snapshot, best)))
    return Judged(seed, places.free_gpus, started, most, certified)


@cache
def engine(placing: Placing) -> Engine:
    """An engine that places so."""
    return Engine(placing.profile)


def started_pods(deciding: Engine, snapshot: ClusterSnapshot) -> Mapping[str, int]:
    """Pods that allocate binds, by pod group."""
    group_of = {pod.uid: pod.pod_group for pod in snapshot.pods}
    return Counter(group_of[pod] for pod in bound_nodes(deciding, snapshot))


def bound_nodes(deciding: Engine, snapshot: ClusterSnapshot) -> Places:
    """The nodes of pods that allocate binds."""
    response = deciding.decide(DecideRequest(snapshot=snapshot, actions=["allocate"])).parse()
    steps = (step for group in response.groups for step in group.decisions)
    return {step.bind.pod: step.bind.node for step in steps if step.HasField("bind")}


def nominated(snapshot: ClusterSnapshot, places: Places) -> ClusterSnapshot:
    """The snapshot with nominated nodes."""
    told = ClusterSnapshot()
    told.CopyFrom(snapshot)
    for pod in told.pods:
        pod.nominated_node = places.get(pod.uid, "")
    return told
