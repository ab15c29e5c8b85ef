"""Scenarios that empty one node at a time (semantics R5.40-R5.44)."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.scenario import Scenario, ScenarioBuilder
from tenure.solver.framework.session import Session


class NodeLocalGreedy:
    """For every node of the victim added last: the accumulated victims that have tasks there."""

    ARGUMENTS: ClassVar[Parsers] = {}
    BEGINS_WITH_FIRST_VICTIM: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        pass

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        """The first is the recorded victims alone, if there are any."""
        for _ in builder.outer_scenarios():
            if not builder.potential:
                if builder.recorded:
                    yield builder.scenario(())
                continue
            nodes, proposed = builder.nodes_of(builder.potential[-1].pod_group), set[frozenset[int]]()
            for node in nodes:
                chosen = builder.potential_on(node)
                if len(nodes) > 1:
                    tasks = frozenset([task for batch in chosen for task in batch.tasks])
                    if tasks in proposed:
                        continue
                    proposed.add(tasks)
                if chosen:
                    yield builder.scenario(chosen)
