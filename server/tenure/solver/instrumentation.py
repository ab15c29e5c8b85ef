"""Telling an observer what happens within actions, by standing in for what actions call.

Actions, the search and plugins know nothing of it. Sessions that somebody listens to are given a placer, a
solver and a simulator that tell what they do; without a listener, the session runs exactly as it is written.
"""

from functools import partial
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.framework.chains import Chains
from tenure.solver.framework.observer import Observer, Phase
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Statement
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.search.oracle import Budget, Search, SearchParts, Validator
from tenure.solver.search.placer import Placer
from tenure.solver.search.scenario_simulator import ScenarioSimulator
from tenure.solver.search.solver import Solver

POINTS: Final = ("admits", "has_capacity", "allows_victim", "guard", "allows_scenario", "nominate")
"""Extension points whose answers are told: a few per pod group and scenario. The others are asked for every
node or move, and would cost more to watch than they take.
"""
STOPPED_OUTCOME: Final = "stopped"
"""Outcome of a part that an exception ended, as when the caller's time is up."""


def instrument_plugins(chains: Chains, observer: Observer) -> None:
    """Let the observer ask the plugins. To be called before anybody has taken a method out of the chains."""
    for point in POINTS:
        chains.wrap(point, partial(partial, observer.call, point))


def build_instrumented_context(session: Session, parts: SearchParts, observer: Observer) -> CycleContext:
    """The search of a session that tells the observer of every pod group that is placed or searched for, and
    of every scenario.
    """
    told = _Instrumentation(observer)
    placer = _InstrumentedPlacer(session, parts, told)
    solver = _InstrumentedSolver(session, parts, placer, told)
    return CycleContext(session, parts, parts.gangs, parts.pod_groups, placer, solver)


class _Instrumentation:
    """What the observer is told about the search of one session."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.is_solving = False
        self._has_open_scenario = False

    def begin_pod_group(self, pod_group: int) -> None:
        self._observer.begin(Phase.POD_GROUP, pod_group=pod_group)

    def end_pod_group(self, outcome: str) -> None:
        self.close_scenario(outcome)
        self._observer.end(outcome)

    def begin_scenario(self, scenario: Scenario) -> None:
        self._observer.begin(Phase.SCENARIO, pod_group=scenario.preemptor)
        self._has_open_scenario = True

    def end_scenario(self, outcome: str) -> None:
        """When it finds room it stays open for the verdict on it, if a search will give one."""
        if outcome != "placed" or not self.is_solving:
            self.close_scenario(outcome)

    def close_scenario(self, outcome: str) -> None:
        """End the scenario, if one is open."""
        if self._has_open_scenario:
            self._has_open_scenario = False
            self._observer.end(outcome)

    def validate(self, validates: Validator, scenario: Scenario) -> Rejection | None:
        """The verdict on a scenario that found room."""
        rejection = validates(scenario)
        self.close_scenario("accepted" if rejection is None else _outcome_word(rejection))
        return rejection


class _InstrumentedPlacer(Placer):
    """Tells of pod groups that are placed on free room. What a simulation places is part of its scenario."""

    def __init__(self, session: Session, parts: SearchParts, instrumentation: _Instrumentation) -> None:
        super().__init__(session, parts.allowed_nodes, parts.node_order)
        self._instrumentation = instrumentation

    def place(
        self, statement: Statement, pod_group: int, tasks: list[int], nodes: int, simulation: bool = False
    ) -> Rejection | None:
        if simulation:
            return super().place(statement, pod_group, tasks, nodes, simulation)
        outcome = STOPPED_OUTCOME
        self._instrumentation.begin_pod_group(pod_group)
        try:
            rejection = super().place(statement, pod_group, tasks, nodes)
            outcome = _outcome(rejection)
        finally:
            self._instrumentation.end_pod_group(outcome)
        return rejection


class _InstrumentedSolver(Solver):
    """Tells of pod groups that are searched for, and of the verdicts on scenarios."""

    def __init__(
        self, session: Session, parts: SearchParts, placer: Placer, instrumentation: _Instrumentation
    ) -> None:
        super().__init__(session, parts, placer)
        self._instrumentation = instrumentation
        self.simulator = _InstrumentedSimulator(session, parts, placer, instrumentation)

    def solve(self, statement: Statement, search: Search, budget: Budget) -> Rejection | None:
        told, outcome = self._instrumentation, STOPPED_OUTCOME
        search.validates = partial(told.validate, search.validates)
        told.begin_pod_group(search.preemptor)
        told.is_solving = True
        try:
            rejection = super().solve(statement, search, budget)
            outcome = _outcome(rejection)
        finally:
            told.end_pod_group(outcome)
            told.is_solving = False
        return rejection


class _InstrumentedSimulator(ScenarioSimulator):
    """Tells of every scenario."""

    def __init__(
        self, session: Session, parts: SearchParts, placer: Placer, instrumentation: _Instrumentation
    ) -> None:
        super().__init__(session, parts.gangs, placer, parts.simulation_order)
        self._instrumentation = instrumentation

    def run(self, statement: Statement, scenario: Scenario, nodes: int) -> bool:
        outcome = STOPPED_OUTCOME
        self._instrumentation.begin_scenario(scenario)
        try:
            found = super().run(statement, scenario, nodes)
            outcome = "placed" if found else "insufficient_resources"
        finally:
            self._instrumentation.end_scenario(outcome)
        return found


def _outcome(rejection: Rejection | None) -> str:
    return "placed" if rejection is None else _outcome_word(rejection)


def _outcome_word(rejection: Rejection) -> str:
    return rejection.code.name.lower()
