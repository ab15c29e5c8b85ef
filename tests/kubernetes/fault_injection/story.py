"""What happens in every run: a gang, a reclaim, two preemptions and a requeue on three nodes of four GPUs.

    gang      `wide` (2 pods of 4 GPUs, twice the quota of its queue) and `core` (one pod of two must stay)
    reclaim   `owed` waits until `wide` has had its minimum of three seconds, which then yields whole
    preempt   `cheap` takes the free node; `firm`, which nobody may preempt, takes it from `cheap`
    surplus   `keen` takes the room of the pod of `core` that need not stay
    requeue   `owed` has run for longer than it was expected to: it makes room for `next`
    return    `next` ends, and `owed` is bound again

Every act waits for what the one before it must lead to, so the order of what happens is not left to chance,
and pods that are evicted come back as their owners would make them again: of the same name, with another uid.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from tests.kubernetes.fault_injection.rules import Facts, GroupFacts

NODES: Final = ("n1", "n2", "n3")
GPUS: Final = 4
"""Of each node."""
MINIMUM_SECONDS: Final = 3.0
"""Minimum runtime of what yields to another queue."""
PRIORITIES: Final = {"low": 10, "high": 90}
QUEUES: Final = {"left": 100, "right": 100, "middle": 100, "spare": 200}
"""Priorities of queues. The quota of each is a node, which is more than there is: a requeue is for those who
cannot reclaim what they are owed."""
LIMITS: Final = {"left": 2 * GPUS}
"""GPUs that a queue may use; the others no more than their quota."""


class Workload(NamedTuple):
    """A pod group whose pods are all alike."""

    name: str
    queue: str
    pods: int
    gpus: int
    """Of each pod."""
    priority: str = "low"
    preemptibility: str = "preemptible"
    minimum: int | None = None
    """How many pods must run; None: all."""

    @property
    def needs(self) -> int:
        """How many pods must run."""
        return self.pods if self.minimum is None else self.minimum

    @property
    def pod_names(self) -> list[str]:
        """As its controller calls them."""
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
"""What the rules need to know of the workloads."""


class StoryDriver(Protocol):
    """Where the story is played: what people and time do to a cluster. See run.Run."""

    def submit(self, workload: Workload) -> None:
        """Create a pod group and its pods, and keep its pods alive."""

    def withdraw(self, workload: Workload) -> None:
        """Delete a pod group and its pods."""

    def annotate(self, workload: Workload, annotations: dict[str, str]) -> None:
        """Say something of a pod group."""

    def running(self, workload: Workload) -> int:
        """How many of its pods run."""

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds. Raises StoryTimeout."""


def run_story(stage: StoryDriver) -> None:
    """The whole story. Raises StoryTimeout where it does not go on."""

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
