"""Requeue: pod groups past their expected runtime are evicted for a contender of higher priority
(semantics section 12).

for each pending pod group, in queue order: a contender
    for each nominated pod group of lower priority, the lowest first, then the longest overrun
        evict ever more of it, surplus first, until the contender fits
    if none suffices alone: the smallest set of them that suffices together
    no set suffices: the contender waits, and those that no contender displaces keep running

The other actions run before. Fairness among queues does not protect the victim, because overriding it is the
purpose. Guards do, the contender must be entitled to what it receives (semantics R12.42), and it must keep it
(R12.51): see `requeue_trial`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.actions.obstacles import Obstacles
from tenure.solver.actions.odd_gpu import OddGpus
from tenure.solver.actions.requeue_candidate import Candidate
from tenure.solver.actions.requeue_search import FITS_ANYWAY, ProtectedContenders, RequeueSearch
from tenure.solver.actions.requeue_trial import NO_BENEFIT, RequeueTrial
from tenure.solver.framework.invalid_queue import invalid_queue
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.decision import Atomicity
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination, NominationResult
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.solver.search.search import BUDGET_EXHAUSTED, Budget
from tenure.terms.reasons import ReasonCode

EXPECTED_RUNTIME: Final = "expectedruntime"
"""The plugin that skips every running pod group without an expected runtime (semantics R12.62)."""
_NOT_SERVED: Final[frozenset[int]] = frozenset([-1])


def _requeue(context: CycleContext, action: Action) -> None:
    """Decide on every candidate; all nominations receive a result."""
    nominations, evaluated = context.session.chains.nominations(action)
    nominated = [nomination for nomination in nominations if nomination.is_candidate]
    groups = context.session.cluster.pod_groups
    candidates = [Candidate(each, groups[each.pod_group]) for each in sorted(nominated, key=_order(context))]
    try:
        if candidates:
            _RequeueAction(context, action, candidates).run()
    except CycleStopped:
        for candidate in candidates:
            if not candidate.is_decided:
                candidate.exhaust()
    context.session.nominations = sorted(nominations, key=lambda nomination: nomination.pod_group)
    if EXPECTED_RUNTIME in evaluated:
        without = context.session.phases.running - evaluated[EXPECTED_RUNTIME]
        context.session.without_expected_runtime = len(without)
    context.session.wake_times.extend(each.until for each in nominations if each.until is not None)


def _order(context: CycleContext) -> Callable[[Nomination], tuple[int, ...]]:
    """Priority, overrun, start and uid (semantics R12.40); by option the overrun is first."""
    groups = context.session.cluster.pod_groups
    is_by_priority = context.session.options.requeue_order == "priority"

    def key(nomination: Nomination) -> tuple[int, ...]:
        group = groups[nomination.pod_group]
        first = (group.facts.priority,) if is_by_priority else ()
        return (*first, -nomination.overrun, group.facts.last_start or 0, group.index)

    return key


class _RequeueAction:
    """One run of the action; contenders are tried one after the other (semantics R12.46)."""

    def __init__(self, context: CycleContext, action: Action, candidates: Sequence[Candidate]) -> None:
        self._context = context
        self._action = action
        self._candidates = candidates
        self._session = context.session
        self._groups = context.session.cluster.pod_groups
        self._budget = Budget.of(context.session.options)
        self._trial = RequeueTrial(context, action, self._budget)
        self._search = RequeueSearch(context, action, self._trial, self._budget)
        self._failed_together: dict[object, frozenset[int]] = {}
        """By kind of contender, candidates that do not suffice together."""
        self._served: dict[tuple[object, int], frozenset[int] | None] = {}
        """Kinds and priorities of contenders for which nothing is left to try, with what failed together."""
        self._kind = cache(self._kind_of)

    def run(self) -> None:
        """Set the result of every candidate."""
        candidates = [each for each in self._candidates if not self._is_settled(each)]
        lowest = min([each.group.facts.priority for each in candidates], default=None)
        if self._context.skips_known_failures and self._is_idle(lowest):
            return
        waiting = [index for index in self._in_order() if not self._is_touched(index)]
        before = commits = len(self._session.commits)
        for contender in waiting:
            if lowest is None:
                break
            self._session.stop.check()
            if self._groups[contender].facts.priority <= lowest:
                continue
            if commits != before and self._is_touched(contender):
                continue
            if not self._serve(contender, candidates):
                continue
            is_changed, commits = len(self._session.commits) != commits, len(self._session.commits)
            candidates = [
                each for each in candidates if not (self._is_settled(each) if is_changed else each.is_decided)
            ]
            lowest = min([each.group.facts.priority for each in candidates], default=None)
        highest = max([self._groups[index].facts.priority for index in waiting], default=None)
        odd_gpus: OddGpus | None = None
        for candidate in candidates:
            objection, objector = candidate.objection, candidate.objector
            is_share = objection is not None and objection.code is ReasonCode.OVER_FAIR_SHARE
            if objection is not None and is_share and objector is not None:
                odd_gpus = odd_gpus or OddGpus(self._session, self._session.chains.queue_status())
                tasks = self._context.gangs.tasks_to_allocate(objector)
                candidate.objection = odd_gpus.add_to(objection, objector, tasks)
            candidate.reject(highest)
        self._note_protected(waiting)

    def _note_protected(self, waiting: Sequence[int]) -> None:
        """Note the contenders that a protection with an end may keep waiting; they are checked later."""
        protected = [
            each
            for each in self._candidates
            if any(one.until for one in each.protected) and not self._is_touched(each.group.index)
        ]
        lowest = min([each.group.facts.priority for each in protected], default=None)
        if lowest is None:
            return
        checks = ProtectedContenders(self._context, self._action, self._search, protected)
        obstacles = Obstacles(self._session, checks, checks.endings)
        for contender in waiting:
            if self._groups[contender].facts.priority > lowest and not self._is_touched(contender):
                obstacles.note_protected(contender)
        self._context.obstacles.append(obstacles)

    def _is_idle(self, lowest: int | None) -> bool:
        """Whether no pending pod group has a higher priority, or a delay whose end is to be told."""
        for queue in self._context.pod_groups.leaf_queues():
            for _, pod_group in self._context.pod_groups.pending(queue):
                facts = self._groups[pod_group].facts
                if facts.preemption_delay > 0 or (lowest is not None and facts.priority > lowest):
                    return False
        return True

    def _in_order(self) -> Iterator[int]:
        """Pending pod groups that are ready and past their preemption delay (semantics R12.41)."""
        tree = self._context.pending(self._context.may_evict)
        while (entry := tree.pop()) is not None:
            yield entry.pod_group

    def _is_touched(self, pod_group: int) -> bool:
        """Whether this cycle placed, evicted or relocated any task of it (semantics R12.70)."""
        tasks, placements = self._session.cluster.tasks, self._session.ledger.placements
        return any(placements[t] != tasks[t].placement for t in self._groups[pod_group].tasks)

    def _is_settled(self, candidate: Candidate) -> bool:
        """Whether the nomination is decided. Decides it if no contender may displace it."""
        group = candidate.group
        if candidate.is_decided:
            return True
        if self._is_touched(group.index):
            detail = "another action of this cycle already moved or evicted pods of it"
            candidate.keep_running(NominationResult.ALREADY_MOVED, None, detail)
        elif group.queue is None:
            detail = f"no action takes from it: {invalid_queue(self._session.cluster, group).detail}"
            candidate.keep_running(NominationResult.NO_BENEFIT, ReasonCode.INVALID_QUEUE, detail)
        return candidate.is_decided

    def _serve(self, contender: int, candidates: Sequence[Candidate]) -> bool:
        """Requeue one candidate for the contender, else the smallest set of them, if that is possible.

        Returns whether anything was left to try. What is left for a kind and priority only becomes less.
        """
        priority, most = self._groups[contender].facts.priority, self._session.options.max_requeue_contenders
        kind = self._kind(contender)
        failed = self._failed_together.get(kind)
        if self._served.get((kind, priority), _NOT_SERVED) is failed:
            return False
        lower = [each for each in candidates if each.group.facts.priority < priority]
        lower = [each for each in lower if kind not in each.unfit and each.tries < most]
        if not any(kind not in each.too_small for each in lower) and self._is_known(kind, lower):
            self._served[kind, priority] = failed
            return False
        if self._budget.is_over:
            for candidate in lower:
                candidate.exhaust()
            return True
        self._try_all(contender, kind, lower)
        return True

    def _try_all(self, contender: int, kind: object, lower: Sequence[Candidate]) -> None:
        """Try each candidate alone, then all of them together."""
        self._budget.start()
        tasks = self._context.gangs.tasks_to_allocate(contender)
        self._session.chains.on_search_start(contender, tasks)
        rules = [self._trial.rule(contender, each.group.index) for each in lower]
        is_mixed = any(rule is not rules[0] for rule in rules)
        members: list[Candidate] = []
        for candidate in lower:
            if self._is_protected(contender, kind, candidate):
                continue
            if kind not in candidate.too_small:
                candidate.objection = self._try(contender, kind, tasks, candidate, is_mixed)
                candidate.objector = contender
                if candidate.is_decided:
                    return
                if candidate.objection is BUDGET_EXHAUSTED or candidate.objection is FITS_ANYWAY:
                    self._note_for_all(lower, kind, candidate.objection)
                    return
            if kind not in candidate.unfit:
                candidate.too_small.add(kind)
                members.append(candidate)
        if not self._is_known(kind, members):
            objection = self._search.together(contender, tasks, members)
            if objection is BUDGET_EXHAUSTED:
                for member in members:
                    member.exhaust()
            elif objection is not None:
                self._failed_together[kind] = frozenset([member.group.index for member in members])
                for member in members:
                    if member.objection is None or member.objection is NO_BENEFIT:
                        member.objection, member.objector = objection, contender

    def _note_for_all(self, candidates: Sequence[Candidate], kind: object, objection: Rejection) -> None:
        """Note what ends the work on a contender, for all candidates that were not rejected before."""
        for candidate in candidates:
            if kind not in candidate.unfit and kind not in candidate.too_small:
                candidate.objection = objection
                candidate.unfit.add(kind)
                if objection is BUDGET_EXHAUSTED:
                    candidate.exhaust()

    def _is_known(self, kind: object, members: Sequence[Candidate]) -> bool:
        """Whether these are too few together for a contender of this kind."""
        indices = [member.group.index for member in members]
        return len(indices) < 2 or self._failed_together.get(kind, frozenset()).issuperset(indices)

    def _is_protected(self, contender: int, kind: object, candidate: Candidate) -> bool:
        """Whether guards protect the candidate from the contender."""
        if kind not in candidate.too_small:
            candidate.tries += 1
        rejection = self._trial.guard_rejection(contender, candidate.group)
        if rejection is not None:
            candidate.protected.append(rejection)
            if not self._session.guards.is_pair_finding(contender, rejection.source):
                candidate.unfit.add(kind)
        return rejection is not None

    def _try(
        self, contender: int, kind: object, tasks: list[int], candidate: Candidate, is_mixed: bool
    ) -> Rejection | None:
        """Requeue the candidate alone, or return why that is impossible.

        If candidates are of the contender's queue and of others (`is_mixed`), a fair share that it would
        exceed may suffice once some of its own queue have left.
        """
        rule = self._trial.rule(contender, candidate.group.index)
        if not self._context.components.allowed_nodes.are_possible(tasks):
            candidate.unfit.add(kind)
            return NO_BENEFIT
        rejection = self._session.chains.admits(rule, contender, tasks)
        if rejection is None:
            return self._search.alone(contender, tasks, candidate)
        if not is_mixed:
            candidate.unfit.add(kind)
        return rejection

    def _kind_of(self, contender: int) -> object:
        """Contenders with equal keys have equal requests and rules: if one does not fit, none does."""
        tasks = self._context.gangs.tasks_to_allocate(contender)
        members = [self._session.cluster.tasks[task] for task in tasks]
        if any(task.facts.claims for task in members) or len(self._groups[contender].pod_sets) > 1:
            return contender
        group = self._groups[contender]
        is_firm = self._session.cores.has_firm_request(contender, tasks)
        return (
            group.queue,
            group.facts.namespace,
            is_firm,
            group.root.topology,
            tuple((task.shape.index, task.facts.labels) for task in members),
        )


REQUEUE: Final = Action(
    "requeue",
    victims_from=Relation.ANY_QUEUE,
    gate=QueueGate.NONE,
    reason=ReasonCode.REQUEUED,
    atomicity=Atomicity.ALL,
    run=in_cycle(_requeue),
)
