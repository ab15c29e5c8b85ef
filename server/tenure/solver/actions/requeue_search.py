"""Search for the place of one contender: one candidate of the action requeue, or the smallest set of them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.actions.requeue_candidate import Candidate
from tenure.solver.actions.requeue_sets import Positions, SmallestSet
from tenure.solver.actions.requeue_trial import NO_BENEFIT, RequeueTrial
from tenure.solver.framework.statement import Statement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.search import BUDGET_EXHAUSTED, NO_SOLUTION, Budget
from tenure.solver.search.speedup import FitCheck
from tenure.solver.search.victim_batches import one_victim, victim_batches
from tenure.terms.reasons import ReasonCode

NO_BENEFIT_TOGETHER: Final = Rejection(
    ReasonCode.NO_SOLUTION,
    "no contender fits in its place, nor in that of all pod groups past their expected runtime together",
)
FITS_ANYWAY: Final = Rejection(ReasonCode.NO_SOLUTION, "the contender fits without evicting it")


class RequeueSearch:
    """Commits what it finds, and sets the results of the candidates that are requeued."""

    def __init__(self, context: CycleContext, action: Action, trial: RequeueTrial, budget: Budget) -> None:
        self._context = context
        self._action = action
        self._session = context.session
        self._trial = trial
        self._budget = budget

    def alone(self, contender: int, tasks: list[int], candidate: Candidate) -> Rejection | None:
        """Requeue as little of the candidate as the contender needs, or return why that is impossible."""
        self._session.disruptions.begin(self._action, contender)
        fits = self._context.components.fit_check(contender, tasks, self._context.solver.feasible(tasks))
        if (fits is None or fits.is_sufficient()) and self._fits_anyway(contender, tasks):
            return FITS_ANYWAY
        batches: list[Batch] = []
        objection = NO_BENEFIT
        for batch in self._batches(contender, candidate.group):
            batches.append(batch)
            if fits is not None:
                fits.add(batch.tasks)
                if not fits.is_sufficient():
                    continue
            if not self._budget.spend():
                return BUDGET_EXHAUSTED
            scenario = Scenario(contender, tuple(tasks), (), tuple(batches))
            found = self._trial.rejection(scenario)
            if found is None:
                self._commit(self._trial.reduced(scenario, batch), [candidate])
                return None
            objection = found
        return objection

    def together(self, contender: int, tasks: list[int], members: Sequence[Candidate]) -> Rejection | None:
        """Requeue the smallest set in whose place the contender fits, or return why there is none."""
        self._session.disruptions.begin(self._action, contender)
        batches = [list(self._batches(contender, member.group)) for member in members]
        everything = tuple([batch for of_member in batches for batch in of_member])
        gate = self._trial.gate_rejection(Scenario(contender, tuple(tasks), (), everything))
        if gate is not None:
            own = [each for each in members if self._trial.rule(contender, each.group.index) is PREEMPT]
            return gate if len(own) in (0, 1, len(members)) else self.together(contender, tasks, own)
        fit_check = partial(
            self._context.components.fit_check, contender, tasks, self._context.solver.feasible(tasks)
        )
        if not _fits_all(fit_check(), batches):
            return NO_BENEFIT_TOGETHER

        def scenario(positions: Positions) -> Scenario:
            potential = tuple([batch for position in positions for batch in batches[position]])
            return Scenario(contender, tuple(tasks), (), potential)

        def rejection(positions: Positions) -> Rejection | None:
            return self._trial.rejection(scenario(positions)) if self._budget.spend() else BUDGET_EXHAUSTED

        everyone = tuple(range(len(members)))
        objection = rejection(everyone)
        if objection is NO_BENEFIT:
            return NO_BENEFIT_TOGETHER
        if objection is BUDGET_EXHAUSTED:
            return objection
        found = SmallestSet(self._session, batches, fit_check, rejection).find()
        if found is None:
            if objection is not None:
                return objection
            found = everyone
        if isinstance(found, Rejection):
            return found
        self._commit(self._trial.reduced(scenario(found)), members)
        return None

    def _commit(self, scenario: Scenario, members: Sequence[Candidate]) -> None:
        """Requeue the members that the scenario evicts."""
        requeued = self._trial.commit(scenario, [member.nomination for member in members])
        contender = self._session.cluster.pod_groups[scenario.preemptor]
        for member in members:
            if member.nomination in requeued:
                member.requeue(contender, len(requeued) - 1)
                ends = [rejection.until for rejection in member.protected]
                self._session.wake_times.extend([end for end in ends if end is not None])

    def _fits_anyway(self, contender: int, tasks: list[int]) -> bool:
        """Whether it fits capacity that is free or releasing, without this eviction."""
        placer, nodes = self._context.placer, self._context.components.node_order.all_nodes
        with self._session.statement() as trial:
            return not placer.place(trial, contender, tasks, nodes, simulation=True)

    def attempt(
        self,
        statement: Statement,
        contender: int,
        victims: Sequence[PodGroup],
        time: int | None,
        budget: Budget,
    ) -> Rejection | None:
        """Place a contender in the place of one of these pod groups, or of all of them.

        Without the protections that end by a time. The moves stay in the statement. To check a reason: what
        it evicts may be more than necessary.
        """
        budget.start()
        self._session.disruptions.begin(self._action, contender)
        tasks = tuple(self._context.gangs.tasks_to_allocate(contender))
        batches = [
            tuple(self._batches(contender, victim, time))
            for victim in victims
            if self._trial.guard_rejection(contender, victim, time) is None
        ]
        sets = [each for each in batches if each]
        if len(sets) > 1:
            sets.append(tuple([batch for of_victim in sets for batch in of_victim]))
        for potential in sets if tasks else ():
            fits = self._context.components.fit_check(
                contender, list(tasks), self._context.solver.feasible(tasks)
            )
            if not _fits_all(fits, [potential]):
                continue
            if not budget.spend():
                return BUDGET_EXHAUSTED
            if self._trial.attempt(statement, Scenario(contender, tasks, (), potential), time) is None:
                return None
            statement.rollback(0)
        return NO_BENEFIT

    def _batches(self, contender: int, victim: PodGroup, time: int | None = None) -> Iterator[Batch]:
        """Surplus one by one, then the core, as in victim order (semantics R12.43)."""
        assert victim.queue is not None
        batches = victim_batches(
            self._session,
            self._context.gangs,
            one_victim(self._session, victim.index),
            [victim.queue],
            lambda _: True,
            lambda index: self._session.guards.summary_at(self._action, contender, index, time).keeps_core,
        )
        while (batch := batches.pop()) is not None:
            yield batch


class ProtectedContenders:
    """Contenders that wait for the protections of candidates, for checks of that reason."""

    def __init__(
        self, context: CycleContext, action: Action, search: RequeueSearch, candidates: Sequence[Candidate]
    ) -> None:
        self.action = action
        self._session = context.session
        self._groups = context.session.cluster.pod_groups
        self._search = search
        self._victims = [candidate.group for candidate in candidates]

    def attempt(
        self, statement: Statement, pod_group: int, time: int | None, budget: Budget
    ) -> Rejection | None:
        """Place it without the protections that end by a time; None: with all of them."""
        rejection = self._search.attempt(statement, pod_group, self._lower(pod_group), time, budget)
        return rejection if rejection in (None, BUDGET_EXHAUSTED) else NO_SOLUTION

    def endings(self, pod_group: int) -> Mapping[int, Rejection]:
        """Protections of the candidates by their end."""
        found: dict[int, Rejection] = {}
        for victim in self._lower(pod_group):
            for each in self._session.guards.endings(self.action, pod_group, victim.index):
                if each.until is not None:
                    found.setdefault(each.until, each)
        return found

    def _lower(self, pod_group: int) -> list[PodGroup]:
        priority = self._groups[pod_group].facts.priority
        return [victim for victim in self._victims if victim.facts.priority < priority]


def _fits_all(fits: FitCheck | None, batches: Sequence[Sequence[Batch]]) -> bool:
    """Whether the contender may fit in the place of all candidates."""
    if fits is None:
        return True
    for of_candidate in batches:
        for batch in of_candidate:
            fits.add(batch.tasks)
    return fits.is_sufficient()
