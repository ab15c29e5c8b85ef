"""The order of preemptor and victims among few pending pod groups equals their order among all."""

from tenure.solver.model.resources import Share
from tenure.solver.search.gang import GangPlanner
from tenure.solver.search.pod_group_lists import AllPending, SortedPodGroups
from tenure.solver.search.speedups.pod_group_index import PodGroupIndex
from tenure.solver.search.speedups.simulation_order import FewPending

from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.solver.sessions import open_session

CLUSTERS = 150
MOST_VICTIMS = 3


def test_simulation_order_equals_the_order_among_all_pending() -> None:
    with_two = compared = 0
    for seed in range(CLUSTERS):
        draw = SeededDraw(seed)
        session = open_session(random_cluster(draw))
        gangs = GangPlanner(session)
        few = FewPending(session, PodGroupIndex(session, gangs))
        every = AllPending(session, gangs, SortedPodGroups(session, gangs))
        groups = [group for group in session.cluster.pod_groups if group.queue is not None]
        running = [group for group in groups if session.ledger.allocated[group.index]]
        for preemptor in [group.index for group in groups if gangs.has_pending(group.index)]:
            others = [group.index for group in running if group.index != preemptor]
            first = draw.integer(0, max(0, len(others) - 1))
            victims = others[first : first + draw.integer(1, MOST_VICTIMS)]
            if not victims:
                continue
            tasks = gangs.tasks_to_allocate(preemptor)
            pending = tasks[: draw.integer(1, max(1, len(tasks)))]
            with session.statement() as statement:
                for victim in victims:
                    for pod_set in session.cluster.pod_groups[victim].pod_sets:
                        for task in gangs.evictable_tasks(pod_set):
                            statement.evict(task)

                def share(pod_group: int) -> Share:
                    if pod_group == preemptor:  # noqa: B023
                        return session.ledger.demand(pending)  # noqa: B023
                    return session.ledger.demand(gangs.next_tasks(pod_group, statement.evicted))  # noqa: B023

                found = list(few.in_order(preemptor, victims, share))
                assert found == list(every.in_order(preemptor, victims, share)), (seed, preemptor, victims)
            with_two += len(victims) == 1
            compared += 1
    assert compared > CLUSTERS
    assert compared // 10 < with_two < compared
