"""The check `replays`: before each commit, a replayed cycle is in the state in which the cycle decided.

States are compared by what the session that decided had right before the commit: the ledger, what plugins
answer, what is reserved, what guards and rates know.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Annotated, Any, Final
from unittest.mock import patch

import typer
from tenure.solver.diagnosis.answer import answer
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.queue import QUEUE_USAGE
from tenure.solver.model.resources import GPU, NO_SHARE
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.solver.reservations.owner_starts import reserved_capacity
from tenure.solver.testing import apply_decisions

from tests.checks import Counts
from tests.properties.checks.many_seeds import count_all, report
from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.disruption_budgets import PACING, random_pacing, with_disruption_budgets
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.guard_profiles import random_profile
from tests.properties.generators.random_clusters import random_cluster
from tests.properties.generators.standing_reservations import with_reservations
from tests.properties.notices.judged_notices import LONGEST, MINUTE, STEPS, noticed_cluster
from tests.solver.sessions import ledger_state

BATCH: Final = 5
CYCLES: Final = 3
COMPARED: Final = 6
"""Commits of a cycle that are replayed: all of most cycles."""
_HISTORY: Final = PluginConfig("proportion", {"usageHalfLife": "1h"})


def judge(seed: int) -> Counter[str]:
    """Compare replays of a few cycles, one after the other, on the cluster of a seed."""
    draw = SeededDraw(seed)
    cluster, profile = _drawn(seed)
    found = Counter({"clusters": 1})
    for _ in range(CYCLES):
        found.update(_compare(seed, cluster, profile))
        cluster = apply_decisions(cluster, answer(cluster, profile), draw.choice((*STEPS, MINUTE)))
    found["wrong"] = int(any(text.startswith("seed") for text in found))
    return found


def _drawn(seed: int) -> tuple[Cluster, Profile]:
    draw = SeededDraw(seed)
    has_notices, profile = seed % 3 == 0, random_profile(draw) if seed % 2 else default_profile()
    if has_notices:
        cluster = noticed_cluster(draw)
        profile = replace(profile, options=replace(profile.options, max_notice=LONGEST))
    else:
        cluster = contested_cluster(draw) if seed % 3 == 1 else random_cluster(draw)
    if seed % 4 < 2:
        cluster, pacing = random_pacing(draw, with_disruption_budgets(draw, cluster))
        values = {name: getattr(pacing, name) for name in PACING}
        profile = replace(profile, options=replace(profile.options, **values))
    if seed % 5 < 2:
        cluster, profile = with_reservations(SeededDraw(~seed), cluster, profile)
    if seed % 7 < 3:
        plugins = [_HISTORY if each.name == _HISTORY.name else each for each in profile.plugins]
        profile = replace(profile, plugins=tuple(plugins))
    return cluster, profile


def _compare(seed: int, cluster: Cluster, profile: Profile) -> Counter[str]:
    """Replays of one cycle. Differences are counted by the part that differs."""
    with _recorded() as states:
        replay = CycleReplay(cluster, profile)
    commits = replay.end.session.commits
    found = Counter(
        {
            "cycles": 1,
            "commits": len(commits),
            "with in-flight groups": bool(cluster.in_flight),
            "with notices": any(each.notices for each in cluster.in_flight),
            "with planned starts": bool(cluster.carried.rows(PLANNED_STARTS)),
            "with a history": bool(cluster.carried.rows(QUEUE_USAGE)),
            "with rates": bool(profile.options.eviction_rates),
        }
    )
    for number in range(min(len(commits), COMPARED)):
        found["replays"] += 1
        replayed = state_of(replay.before(number).session)
        for part, value in states[number].items():
            if replayed[part] != value:
                found[f"seed {seed}: {part} differs"] += 1
    return found


@contextmanager
def _recorded() -> Iterator[list[dict[str, Any]]]:
    """The state of a session right before each commit of the block, without the moves that it keeps."""
    states: list[dict[str, Any]] = []
    commit = Session.commit

    def recording(session: Session, statement: Statement, *args: Any, **named: Any) -> None:
        del states[len(session.commits) :]
        for move in reversed(statement.moves):
            session.ledger.apply(move.task, move.after, move.before)
        states.append(state_of(session))
        for move in statement.moves:
            session.ledger.apply(move.task, move.before, move.after)
        commit(session, statement, *args, **named)

    with patch.object(Session, "commit", recording):
        yield states


def state_of(session: Session) -> dict[str, Any]:
    """All that decisions depend on, by name."""
    reserved = reserved_capacity(session)
    refusals = 0 if reserved is None else reserved.revocable_refusals
    state = {
        "ledger": ledger_state(session.ledger),
        "commits": [(each.action.name, each.beneficiary, each.in_flight) for each in session.commits],
        "answers of plugins": list(_answers(session)),
        "verdicts of guards": list(_verdicts(session)),
        "reserved capacity": _reserved(session),
        "tasks of in-flight groups": session.reserved_tasks,
        "states of in-flight groups": session.in_flight,
        "notices": (deepcopy(session.notices), dict(session.guards.leads)),
        "rates": session.disruptions.pacing.status(session.commits),
        "budgets": session.disruptions.status(),
        "eviction history": sorted(session.eviction_history.items()),
        "patches": list(session.patches),
    }
    if reserved is not None:
        reserved.revocable_refusals = refusals
    return state


def _answers(session: Session) -> Iterator[Any]:
    chains, cluster = session.chains, session.cluster
    queues = chains.queue_status()
    yield queues
    yield chains.carried_changes(queues, True)
    for queue in cluster.queues:
        yield chains.queue_key(queue.index, (0, 0, 1_000), NO_SHARE)
    for index in sorted(session.phases.pending):
        group = cluster.pod_groups[index]
        tasks = list(group.tasks)
        yield session.pod_group_key(index)
        yield chains.has_capacity(index, tasks, session.ledger.demand(tasks))
        for action in session.registry.guarded.actions if group.queue is not None else ():
            yield chains.admits(action, index, tasks)


def _verdicts(session: Session) -> Iterator[Any]:
    running = sorted(session.phases.running)[:6]
    for preemptor in sorted(session.phases.pending)[:4]:
        for action in session.registry.guarded.actions:
            for victim in running:
                summary = session.guards.summary(action, preemptor, victim)
                yield summary.verdicts, summary.rejection


def _reserved(session: Session) -> Any:
    reserved = reserved_capacity(session)
    if reserved is None:
        return None
    nodes = {
        node: [(each.owner.index, each.reserved[GPU], each.spare) for each in entries]
        for node, entries in reserved.nodes.by_node.items()
    }
    bounds = {
        queue: [(each.owner.index, each.is_quota, list(each.spare)) for each in entries]
        for queue, entries in reserved.queues.by_queue.items()
    }
    owners = [(each.index, each.start, each.placed, each.left) for each in reserved.owners.values()]
    requests = [reserved.reserved_request(queue.index) for queue in session.cluster.queues]
    return deepcopy((reserved.is_in_force, owners, nodes, bounds, dict(reserved.lent()), requests))


def main(
    clusters: Annotated[int, typer.Option(help="Number of random clusters.")] = 1_000,
    first: Annotated[int, typer.Option(help="First seed.")] = 0,
) -> Counts:
    """Compare replayed cycles with the cycles that decided, before each commit."""
    seeds = range(first, first + clusters)
    return report(count_all(judge, seeds, clusters, BATCH, "Replaying"), clusters)
