"""The story of every run: a gang, a reclaim, two preemptions and a requeue on three nodes of four GPUs.

    gang      `wide` (2 pods of 4 GPUs, twice the quota of its queue) and `core` (its core is one pod of two)
    reclaim   `owed` waits for the minimum runtime of `wide`, three seconds; then `wide` is evicted
    preempt   `cheap` is bound to the free node; `firm`, which is non-preemptible, preempts it
    surplus   `keen` preempts the surplus pod of `core`
    requeue   `owed` is past its expected runtime and is requeued for `next`
    return    `next` ends, and `owed` is bound again

Every act waits for the result of the one before it, so the order of events is fixed. Evicted pods are created
again as their owners do: with the same name and another uid.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from tests.kubernetes.fault_injection.rules import Facts, GroupFacts

NODES: Final = ("n1", "n2", "n3")
GPUS: Final = 4
"""GPUs of each node."""
MINIMUM_SECONDS: Final = 3.0
"""Minimum runtime of victims in other queues."""
PRIORITIES: Final = {"low": 10, "high": 90}
QUEUES: Final = {"left": 100, "right": 100, "middle": 100, "spare": 200}
"""Priorities of queues.

The quota of each queue is one node; together the quotas exceed the cluster. A requeue is for contenders that
cannot reclaim their quota.
"""
LIMITS: Final = {"left": 2 * GPUS}
"""GPU limits of queues; the limit of other queues is their quota."""


class Workload(NamedTuple):
    """A pod group with identical pods."""

    name: str
    queue: str
    pods: int
    gpus: int
    """GPUs of each pod."""
    priority: str = "low"
    preemptibility: str = "preemptible"
    minimum: int | None = None
    """Minimum number of running pods; None: all."""

    @property
    def needs(self) -> int:
        """Minimum number of running pods."""
        return self.pods if self.minimum is None else self.minimum

    @property
    def pod_names(self) -> list[str]:
        """Names that its controller gives its pods."""
        return [f"{self.name}-{i}" for i in range(self.pods)]


WIDE: Final = Workload("wide", "left", pods=2, gpus=4)
CORE: Final = Workload("core", "middle", pods=2, gpus=2, preemptibility="semi-preemptible", minimum=1)
UNDER_SHARE: Final = Workload("owed", "right", pods=1, gpus=4)
CHEAP: Final = Workload("cheap", "left", pods=1, gpus=4)
FIRM: Final = Workload("firm", "left", pods=1, gpus=4, priority="high", preemptibility="non-preemptible")
HIGH_PRIORITY: Final = Workload("keen", "middle", pods=1, gpus=2, priority="high")
NEXT: Final = Workload("next", "spare", pods=1, gpus=4, priority="high")
WORKLOADS: Final = (WIDE, CORE, UNDER_SHARE, CHEAP, FIRM, HIGH_PRIORITY, NEXT)

FACTS: Final = Facts(
    gpus=dict.fromkeys(NODES, GPUS),
    groups={
        one.name: GroupFacts(
            needs=one.needs,
            is_evictable=one.preemptibility != "non-preemptible",
            keeps_core=one.preemptibility == "semi-preemptible",
            minimum_seconds=MINIMUM_SECONDS if one in (WIDE, UNDER_SHARE) else 0.0,
        )
        for one in WORKLOADS
    },
)
"""The properties of the workloads that the rules need."""


class StoryDriver(Protocol):
    """The environment of the story: actions of users and waits. Implemented by run.StoryRun."""

    def submit(self, workload: Workload) -> None:
        """Create a pod group and its pods, and recreate evicted pods."""

    def withdraw(self, workload: Workload) -> None:
        """Delete a pod group and its pods."""

    def annotate(self, workload: Workload, annotations: dict[str, str]) -> None:
        """Annotate a pod group."""

    def running(self, workload: Workload) -> int:
        """Return the number of its running pods."""

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds. Raises StoryTimeout."""


def run_story(stage: StoryDriver) -> None:
    """Run the whole story. Raises StoryTimeout if it does not continue."""

    def runs(**pods: int) -> None:
        def holds() -> bool:
            return all(stage.running(known[name]) == count for name, count in pods.items())

        stage.until(holds, ", ".join(f"{count} pods of {name} run" for name, count in pods.items()))

    known = {one.name: one for one in WORKLOADS}
    stage.submit(WIDE)
    stage.submit(CORE)
    runs(wide=2, core=2)
    stage.submit(UNDER_SHARE)
    runs(owed=1, wide=0)
    stage.submit(CHEAP)
    runs(cheap=1)
    stage.submit(FIRM)
    runs(firm=1, cheap=0)
    stage.withdraw(CHEAP)
    stage.submit(HIGH_PRIORITY)
    runs(keen=1, core=1)
    stage.annotate(UNDER_SHARE, {"kai.scheduler/expected-runtime": "1s", "kai.scheduler/requeue-delay": "1m"})
    stage.submit(NEXT)
    runs(next=1, owed=0)
    stage.withdraw(NEXT)
    runs(owed=1)
