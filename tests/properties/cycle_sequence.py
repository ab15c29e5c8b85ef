"""Sequences of cycles on one cluster, with the result and the input of each."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import default_profile
from tenure.solver.testing import apply_decisions
from tenure.terms.durations import SECOND

PROFILE: Final = default_profile()


class CycleRun(NamedTuple):
    """A cycle result and the cluster it is based on."""

    cluster: Cluster
    decision: CycleResult


def run_cycles(cluster: Cluster, count: int, profile: Profile = PROFILE) -> Iterator[CycleRun]:
    """Run one cycle a second. Bound pods run, evicted pods become pending, reservations are dropped."""
    for _ in range(count):
        decision = answer(cluster, profile)
        yield CycleRun(cluster, decision)
        cluster = apply_decisions(cluster, decision, SECOND)
