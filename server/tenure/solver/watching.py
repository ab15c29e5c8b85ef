"""Telling an observer what happens within actions, by standing in for what actions call.

Actions, the search and plugins know nothing of it. Sessions that somebody listens to are given a placer, a
solver and a simulator that tell what they do; without a listener, the session runs exactly as it is written.
"""

from functools import partial
from typing import Final

from tenure.solver.actions.context import Context
from tenure.solver.framework.chains import Chains
from tenure.solver.framework.observer import Observer, Part
from tenure.solver.framework.scenario import Scenario
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.reason import Rejection
from tenure.solver.search.budget import Budget
from tenure.solver.search.gang import Gangs
from tenure.solver.search.place import Placer
from tenure.solver.search.podgrouplists import PodGroupLists
from tenure.solver.search.simulate import Simulator
from tenure.solver.search.solve import Problem, Solver, Validator

POINTS: Final = ("admits", "has_capacity", "allows_victim", "guard", "allows_scenario", "nominate")
"""Extension points whose answers are told: a few per pod group and scenario. The others are asked for every
node or move, and would cost more to watch than they take.
"""
STOPPED: Final = "stopped"
"""Outcome of a part that an exception ended, as when the caller's time is up."""


def watch_plugins(chains: Chains, observer: Observer) -> None:
    """Let the observer ask the plugins. To be called before anybody has taken a method out of the chains."""
    for point in POINTS:
        chains.wrap(point, partial(partial, observer.ask, point))


def watched_context(session: Session, observer: Observer) -> Context:
    """The search of a session that tells the observer of every pod group that is placed or searched for, and
    of every scenario.
    """
    told = _Told(observer)
    gangs, placer = Gangs(session), _WatchedPlacer(session, told)
    lists = PodGroupLists(session, gangs)
    return Context(session, gangs, placer, lists, _WatchedSolver(session, gangs, placer, lists, told))


class _Told:
    """What the observer is told about the search of one session."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.is_solving = False
        self._has_open_scenario = False

    def begin_pod_group(self, pod_group: int) -> None:
        self._observer.begin(Part.POD_GROUP, pod_group=pod_group)

    def end_pod_group(self, outcome: str) -> None:
        self.close_scenario(outcome)
        self._observer.end(outcome)

    def begin_scenario(self, scenario: Scenario) -> None:
        self._observer.begin(Part.SCENARIO, pod_group=scenario.preemptor)
        self._has_open_scenario = True

    def end_scenario(self, outcome: str) -> None:
        """When it finds room it stays open for the verdict on it, if a search will give one."""
        if outcome != "room" or not self.is_solving:
            self.close_scenario(outcome)

    def close_scenario(self, outcome: str) -> None:
        """End the scenario, if one is open."""
        if self._has_open_scenario:
            self._has_open_scenario = False
            self._observer.end(outcome)

    def verdict(self, validates: Validator, scenario: Scenario) -> Rejection | None:
        """The verdict on a scenario that found room."""
        rejection = validates(scenario)
        self.close_scenario("accepted" if rejection is None else _word(rejection))
        return rejection


class _WatchedPlacer(Placer):
    """Tells of pod groups that are placed on free room. What a simulation places is part of its scenario."""

    def __init__(self, session: Session, told: _Told) -> None:
        super().__init__(session)
        self._told = told

    def place(
        self, statement: Statement, pod_group: int, tasks: list[int], nodes: int, simulation: bool = False
    ) -> Rejection | None:
        if simulation:
            return super().place(statement, pod_group, tasks, nodes, simulation)
        outcome = STOPPED
        self._told.begin_pod_group(pod_group)
        try:
            rejection = super().place(statement, pod_group, tasks, nodes)
            outcome = _outcome(rejection)
        finally:
            self._told.end_pod_group(outcome)
        return rejection


class _WatchedSolver(Solver):
    """Tells of pod groups that are searched for, and of the verdicts on scenarios."""

    def __init__(
        self, session: Session, gangs: Gangs, placer: Placer, lists: PodGroupLists, told: _Told
    ) -> None:
        super().__init__(session, gangs, placer, lists)
        self._told = told
        self.simulator = _WatchedSimulator(session, gangs, placer, lists, told)

    def solve(self, statement: Statement, problem: Problem, budget: Budget) -> Rejection | None:
        told, outcome = self._told, STOPPED
        problem.validates = partial(told.verdict, problem.validates)
        told.begin_pod_group(problem.pod_group)
        told.is_solving = True
        try:
            rejection = super().solve(statement, problem, budget)
            outcome = _outcome(rejection)
        finally:
            told.end_pod_group(outcome)
            told.is_solving = False
        return rejection


class _WatchedSimulator(Simulator):
    """Tells of every scenario."""

    def __init__(
        self, session: Session, gangs: Gangs, placer: Placer, lists: PodGroupLists, told: _Told
    ) -> None:
        super().__init__(session, gangs, placer, lists)
        self._told = told

    def run(self, statement: Statement, scenario: Scenario, nodes: int) -> bool:
        outcome = STOPPED
        self._told.begin_scenario(scenario)
        try:
            found = super().run(statement, scenario, nodes)
            outcome = "room" if found else "no_room"
        finally:
            self._told.end_scenario(outcome)
        return found


def _outcome(rejection: Rejection | None) -> str:
    return "room" if rejection is None else _word(rejection)


def _word(rejection: Rejection) -> str:
    return rejection.code.name.lower()
