"""What a pod is to others, by its state: one table for all relations (R3.70, R3.71, R3.72, R3.73)."""

from dataclasses import replace
from itertools import product
from typing import Any, cast

import pytest
from tenure.solver.model.caller_state import InFlightDecision, InFlightGroup
from tenure.solver.model.constraints import HostPort, PodAffinityTerm, TopologySpread
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import NOT_YET
from tenure.solver.plugin_api.presence import EFFECTS, FOR_RESERVED, Effect, PodRelation, Presence, Presences
from tenure.solver.testing import ClusterBuilder

from tests.solver.sessions import open_session

WEB = {"app": "web"}
TERM = PodAffinityTerm((("app", "web"),), "host")
RELATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "affinity": ({}, {"pod_affinity": [TERM]}),
    "anti-affinity": ({}, {"pod_anti_affinity": [TERM]}),
    "anti-affinity of the other": ({"pod_anti_affinity": [TERM]}, {"labels": WEB}),
    "host port": ({"host_ports": [HostPort(80)]}, {"host_ports": [HostPort(80)]}),
    "topology spread": (
        {},
        {"labels": WEB, "topology_spread": [TopologySpread("host", match_labels=(("app", "web"),))]},
    ),
}
"""What the other pod has, and the pod that is to be placed."""


def stays(statement: Any, session: Any, task: int) -> None:
    pass


def is_bound(statement: Any, session: Any, task: int) -> None:
    statement.allocate(task, 0)


def is_reserved(statement: Any, session: Any, task: int) -> None:
    statement.pipeline(task, 0)


def leaves(statement: Any, session: Any, task: int) -> None:
    statement.evict(task)


def returns(statement: Any, session: Any, task: int) -> None:
    statement.evict(task)
    statement.pipeline(task, 0)


def moves_here(statement: Any, session: Any, task: int) -> None:
    statement.rollback(0)
    statement.evict(task)
    statement.pipeline(task, 1)


ALWAYS, NEVER, LATER = "now", "never", "later"
TABLE = {
    #                              affinity anti    of other port    spread
    "runs": (TaskStatus.RUNNING, stays, 0, (ALWAYS, NEVER, NEVER, NEVER, NEVER)),
    "is bound": (TaskStatus.BINDING, stays, 0, (ALWAYS, NEVER, NEVER, NEVER, NEVER)),
    "is bound in this cycle": (TaskStatus.PENDING, is_bound, 0, (ALWAYS, NEVER, NEVER, NEVER, NEVER)),
    "is reserved": (TaskStatus.PENDING, is_reserved, 0, (LATER, NEVER, NEVER, NEVER, NEVER)),
    "is pending": (TaskStatus.PENDING, stays, 0, (NEVER, ALWAYS, ALWAYS, ALWAYS, ALWAYS)),
    "is evicted": (TaskStatus.RUNNING, leaves, 0, (NEVER, LATER, LATER, LATER, ALWAYS)),
    "is evicted and returns": (TaskStatus.RUNNING, returns, 0, (ALWAYS, NEVER, NEVER, NEVER, NEVER)),
    "is placed again here": (TaskStatus.RUNNING, moves_here, 1, (LATER, NEVER, NEVER, NEVER, NEVER)),
    "is placed again elsewhere": (TaskStatus.RUNNING, moves_here, 0, (NEVER, LATER, LATER, LATER, ALWAYS)),
    "was terminating": (TaskStatus.RELEASING, stays, 0, (NEVER, NEVER, NEVER, NEVER, ALWAYS)),
    "is stuck": (TaskStatus.STUCK_IN_RELEASING, stays, 0, (NEVER, NEVER, NEVER, NEVER, ALWAYS)),
}
"""Status of the other pod, what a decision does with it, a node, and when the node takes the new pod."""


def taken(state: str, relation: str) -> str:
    """When the node takes the new pod of a gang beside the other one."""
    status, move, node, _ = TABLE[state]
    of_other, of_new = RELATIONS[relation]
    builder = ClusterBuilder().queue("q")
    for name in ("a", "b", "c"):
        builder.node(name, labels={"host": name})
    builder.pod_group("gang", queue="q")
    builder.pods("gang", status, node="a" if status.is_active_used else "", labels=WEB, **of_other)
    builder.pending("gang", **of_new)
    session = open_session(builder.build())
    with session.statement() as statement:
        move(statement, session, 0)
        problems = [check(node) for check in session.chains.placement_checks(1)]
        return ALWAYS if not any(problems) else LATER if problems == [NOT_YET] else NEVER


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("state", TABLE)
def test_node_takes_a_pod_beside_another_as_the_table_says(state: str, relation: str) -> None:
    assert taken(state, relation) == TABLE[state][-1][list(RELATIONS).index(relation)]


@pytest.mark.interpreted
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_asks_the_same_tables(relation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = (Effect(now=False, later=False),) * len(Presence)
    for table, each in product((EFFECTS, FOR_RESERVED), PodRelation):
        monkeypatch.setitem(cast(dict[PodRelation, Any], table), each, nothing)
    assert taken("runs", relation) == taken("is pending", relation)


def test_victims_of_in_flight_groups_leave_and_other_terminating_pods_do_not() -> None:
    builder = ClusterBuilder().queue("q").node("a")
    for name in ("ours", "theirs", "expired"):
        builder.pods(name, TaskStatus.RELEASING, queue="q", node="a")
    cluster = builder.build()
    task = {each.facts.uid: each.index for each in cluster.tasks}
    groups = [
        InFlightGroup(
            name, "preempt", 0, cluster.now + age, (InFlightDecision(f"{name}-0", task[f"{name}-0"], 0, 0),)
        )
        for name, age in (("ours", 1), ("expired", 0))
    ]
    presences = Presences(replace(cluster, in_flight=tuple(groups)))
    found = {
        uid: [presence.name for _, presence in presences.of(index, cluster.tasks[index].placement)]
        for uid, index in task.items()
    }
    assert found == {"ours-0": ["LEAVES"], "theirs-0": ["TERMINATES"], "expired-0": ["TERMINATES"]}
