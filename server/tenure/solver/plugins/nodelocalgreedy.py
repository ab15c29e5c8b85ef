"""Scenarios that empty one node at a time (semantics R5.40-R5.44)."""

from collections.abc import Iterator, Mapping

from tenure.solver.framework.scenario import Batch, Scenario, ScenarioBuilder
from tenure.solver.framework.session import Session


class NodeLocalGreedy:
    """For every node of the victim added last: the accumulated victims that have tasks there."""

    ARGUMENTS: Mapping[str, type] = {}

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        pass

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        """The first is the recorded victims alone, if there are any."""
        seen = 0
        groups_on: dict[int, dict[int, None]] = {}
        batches_of: dict[int, list[Batch]] = {}
        for _ in builder.outer_scenarios():
            for batch in builder.potential[seen:]:
                batches_of.setdefault(batch.pod_group, []).append(batch)
                for task in batch.tasks:
                    groups_on.setdefault(builder.node_of(task), {})[batch.pod_group] = None
            seen = len(builder.potential)
            if not seen:
                if builder.recorded:
                    yield builder.scenario(())
                continue
            emitted = set()
            for node in builder.nodes_of(builder.potential[-1].pod_group):
                chosen = [batch for group in groups_on.get(node, ()) for batch in batches_of[group]]
                tasks = frozenset(task for batch in chosen for task in batch.tasks)
                if tasks and tasks not in emitted:
                    emitted.add(tasks)
                    yield builder.scenario(chosen)
