"""Several cycles on one cluster: what each decided, and on what."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.solver.cycle import decide
from tenure.solver.framework.profile import Profile
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision
from tenure.solver.model.duration import SECOND
from tenure.solver.registry import default_profile
from tenure.solver.testing import next_cluster

PROFILE: Final = default_profile()


class Cycle(NamedTuple):
    """A decision and the cluster it was made on."""

    cluster: Cluster
    decision: Decision


def cycles(cluster: Cluster, count: int, profile: Profile = PROFILE) -> Iterator[Cycle]:
    """One cycle a second: bound pods run, evicted pods wait again, promises are forgotten."""
    for _ in range(count):
        decision = decide(cluster, profile)
        yield Cycle(cluster, decision)
        cluster = next_cluster(cluster, decision, SECOND)
