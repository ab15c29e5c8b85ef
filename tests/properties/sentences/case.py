"""One random cluster with what is said about it, and cycles on copies of it."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, NamedTuple

from tenure.server.explain.explain_result import ExplainResult
from tenure.server.explain.protected_until import protected_until
from tenure.server.explain.victim_ranks import ranks_of_queue
from tenure.server.explain.when_starts import when_starts
from tenure.server.explain.why_not_victim import why_not_victim
from tenure.server.explain.why_pending import why_pending
from tenure.server.explain.why_victim import why_victim
from tenure.solver.diagnosis.answer import answer
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, PodGroupOutcome
from tenure.solver.model.placement import Placement
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import apply_decisions, placements
from tenure.terms.durations import SECOND

from tests.properties.checks.guard_facts import GuardFacts
from tests.properties.sentences.applied import MINUTE, PLACED, outcome_of, pods_on_nodes, settled
from tests.properties.sentences.catalog import split_sentences

CYCLES: Final = 12
"""Cycles in which something that was said to start must run."""
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)? UTC")
_NAME: Final = re.compile(r"pod group (\S+) \(queue (\S+)\)")
NEXT: Final = "Next evaluation needed at a time."
_MOST_VICTIMS: Final = 3
"""Pod groups of which it is explained why they are no victims."""


class Said(NamedTuple):
    """A sentence of an explanation, for operators."""

    question: str
    about: int
    """The pod group of the question; -1: none."""
    text: str
    parts: tuple[str, ...] = ()
    """The variable parts of its template."""
    other: int = -1
    """The other pod group of the question."""


class Case:
    """A cluster, the decisions of one cycle, and what is said about them."""

    def __init__(self, cluster: Cluster, profile: Profile) -> None:
        self.cluster = cluster
        self.profile = profile
        self.decision = answer(cluster, profile)
        self._replay = CycleReplay(cluster, profile)
        self.results: dict[tuple[str, int, int], ExplainResult] = {}
        """By question and pod groups."""

    @cached_property
    def after(self) -> list[Placement]:
        """Where every task is when the decisions are carried out."""
        return placements(self.cluster, self.decision.groups)

    @cached_property
    def guards(self) -> GuardFacts:
        """What protects pod groups, by the rules of guards alone."""
        return GuardFacts.for_pair(self.cluster, self.profile)

    def outcome(self, pod_group: int) -> PodGroupOutcome | None:
        """What the cycle says of a pod group that waits."""
        return next((each for each in self.decision.outcomes if each.pod_group == pod_group), None)

    def index(self, text: str) -> int:
        """The pod group that a text names first."""
        found = _NAME.search(text)
        name = text.split()[-1] if found is None else found[1]
        return self.named(name)

    def named(self, name: str) -> int:
        """The pod group of a name."""
        return next(group.index for group in self.cluster.pod_groups if group.facts.name == name)

    def indices(self, text: str) -> list[int]:
        """All pod groups that a text names with their queues, in its order."""
        return [self.named(found[1]) for found in _NAME.finditer(text)]

    def queue(self, name: str) -> int:
        """The queue of a name."""
        return next(queue.index for queue in self.cluster.queues if queue.facts.name == name)

    def decide(self, cluster: Cluster, profile: Profile | None = None) -> CycleResult:
        """One whole cycle on another cluster."""
        return answer(cluster, profile or self.profile)

    def is_placed(self, cluster: Cluster, pod_group: int, profile: Profile | None = None) -> bool:
        """Whether one cycle gives it capacity."""
        return outcome_of(self.decide(cluster, profile), pod_group) in PLACED

    def runs(self, cluster: Cluster, pod_group: int, cycles: int = CYCLES) -> bool:
        """Whether more of its pods run within some cycles, a minute apart or at the time of a notice.

        More than before, or than once it has lost some of them.
        """
        tasks = self.cluster.pod_groups[pod_group].tasks
        before = pods_on_nodes(cluster, tasks)
        for _ in range(cycles):
            decision = self.decide(cluster)
            due = max([group.notices.evict_time for group in decision.groups], default=0)
            cluster = apply_decisions(cluster, decision, max(MINUTE, due - cluster.now))
            if pods_on_nodes(cluster, tasks) > before:
                return True
            before = min(before, pods_on_nodes(cluster, tasks))
        return False

    def settled(self, pod_group: int) -> Cluster:
        """The cluster once this cycle is carried out, with nothing but one pod group to schedule."""
        return settled(self.cluster, self.decision, pod_group)

    def said(self) -> Iterator[Said]:
        """Every sentence of every explanation, and when the decision is to be looked at again."""
        wake = self.decision.next_wake_time
        yield Said("decide", -1, "No next evaluation needed." if wake is None else NEXT)
        for (question, about, other), result in self._explained():
            self.results[question, about, other] = result
            for text in split_sentences(result.text.operator):
                yield Said(question, about, text, other=other)
            for remedy in result.remedies:
                yield Said("remedy", about, remedy.explanation.operator, other=other)
            for estimate in result.start_estimates if about < 0 else ():
                group = next(g for g in self.cluster.pod_groups if g.facts.uid == estimate.pod_group)
                for text in split_sentences(estimate.explanation.operator):
                    yield Said(question, group.index, text)

    def _explained(self) -> Iterator[tuple[tuple[str, int, int], ExplainResult]]:
        replay, victims = (
            self._replay,
            {
                self.cluster.tasks[step.task].pod_group
                for group in self.decision.groups
                for step in (*group.evictions, *group.notices.evictions)
            },
        )
        running = sorted({task.pod_group for task in self.cluster.tasks if task.placement.is_allocated})
        waiting = [each.pod_group for each in self.decision.outcomes]
        for index in waiting:
            yield ("why_pending", index, -1), why_pending(replay, index)
        for index in sorted(victims):
            yield ("why_victim", index, -1), why_victim(replay, index)
        for index in running:
            yield ("protected_until", index, -1), protected_until(replay, index)
        for index in waiting[:1]:
            for victim in running[:_MOST_VICTIMS]:
                yield ("why_not_victim", index, victim), why_not_victim(replay, victim, index)
        if running:
            yield ("victim_ranks", -1, -1), ranks_of_queue(replay, "")
        if waiting:
            found = when_starts(self.cluster, self.profile, BUILT_IN, (), _never)
            yield ("when_starts", -1 if len(waiting) > 1 else waiting[0], -1), found


Judge = Callable[[Case, Said], Iterator[str]]
"""What is wrong with a sentence; nothing if it is true."""


def _never() -> bool:
    return False


def moments(text: str) -> list[int]:
    """The times in a text, in nanoseconds since the Unix epoch."""
    found = []
    for seconds, fraction in _MOMENT.findall(text):
        whole = int(datetime.strptime(seconds, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())
        found.append(whole * SECOND + int((fraction or ".0")[1:].ljust(9, "0")))
    return found


def number(text: str) -> int:
    """The first whole number of a text."""
    found = re.search(r"[\d,]+", text)
    assert found is not None, text
    return int(found[0].replace(",", ""))


def amount(text: str) -> float:
    """The first amount of a text."""
    found = re.search(r"-?[\d,]+(?:\.\d+)?", text)
    assert found is not None, text
    return float(found[0].replace(",", ""))
