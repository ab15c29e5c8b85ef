"""Groups with notices: each cycle keeps, withdraws or carries out what was announced (semantics section 16).

for every in-flight group with notices, the earliest expiry first
    if its beneficiary is gone, or wants nothing, or fits on free capacity now: withdraw
    evict its victims and place its pods as they were reserved, on the ledger
    if a guard spares a victim at the time of the eviction: withdraw
    when that time has come, or all victims are ready: evict, as one decision group, if validators accept it
    else keep the moves for this cycle, so that no other pod group is given the capacity, and decide nothing
"""

from collections.abc import Iterator, Sequence
from typing import Final

from tenure.solver.actions.allocate import ALLOCATE
from tenure.solver.actions.commit_patches import patch_evictions, patch_start
from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.cycle_start import CycleStart, at_start
from tenure.solver.framework.guard_verdicts import Lead
from tenure.solver.framework.statement import Statement
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.caller_state import InFlightGroup
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import (
    InFlightGroupState,
    InFlightGroupStatus,
    Patch,
    PatchKind,
    Requeue,
    Reserve,
)
from tenure.solver.model.facts import VictimFacts
from tenure.solver.model.inherited_settings import notice_period, requeue_delay
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.rejection import NOT_YET, Rejection
from tenure.solver.plugin_api.action import Action, OwnEnd
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.plugin_api.step import Step
from tenure.terms.reasons import ReasonCode

_REQUEUE: Final = "requeue"
_NO_ACTION: Final = Rejection(ReasonCode.NOT_NEEDED, "the profile has no action of this name")
_GONE: Final = Rejection(ReasonCode.GONE, "the pod group that it is for is gone")
_NOT_WANTED: Final = Rejection(ReasonCode.NOT_NEEDED, "its pods no longer need the capacity")
_NO_HOLDS: Final = Rejection(ReasonCode.NOT_NEEDED, "no capacity is reserved for it")
_FITS: Final = Rejection(ReasonCode.NOT_NEEDED, "its pods fit on free capacity")
_NO_END: Final = Rejection(ReasonCode.NOT_NEEDED, "its time is not over then")
_EXPIRED: Final = Rejection(ReasonCode.EXPIRED, "it expired")
_DUE: Final = Rejection(ReasonCode.VICTIMS_EVICTED, "its notices are over, and the pods are evicted now")
_READY: Final = Rejection(
    ReasonCode.VICTIMS_EVICTED, "all pods that were given notice saved their work or ended"
)


def leads(cluster: Cluster, options: CycleOptions) -> dict[int, Lead]:
    """Leads of the pod groups that are given notice, by index; none without `maxNotice`."""
    found: dict[int, Lead] = {}
    if not options.max_notice:
        return found
    for group in cluster.pod_groups:
        wanted, _ = notice_period(group, cluster.queues, options.default_notice)
        notice = min(wanted, options.max_notice)
        if not notice:
            continue
        last_notice, pause = group.facts.victim.last_notice, None
        if last_notice is not None and cluster.now < (end := last_notice + options.notice_cooldown):
            detail = f"the last notice of {group.facts.name} was withdrawn"
            pause = Rejection(ReasonCode.PROTECTED, detail, end, "notice")
        found[group.index] = Lead(notice, cluster.now + notice, pause)
    return found


def settle_notices(start: CycleStart) -> None:
    """Settle all groups with notices. If the cycle must end, the rest is kept as it is."""
    context, session = start.context, start.context.session
    session.guards.set_leads(leads(session.cluster, session.options))
    groups = session.cluster.in_flight
    order = sorted((each.expire_time, each.id, index) for index, each in enumerate(groups) if each.notices)
    statuses = {status.group: status for status in session.in_flight}
    for _, _, index in order:
        try:
            statuses[index] = _Noticed(context, index).settle()
        except CycleStopped:
            kept = Rejection(
                ReasonCode.NOTICE_GIVEN, "it was not evaluated in time", groups[index].evict_time
            )
            statuses[index] = InFlightGroupStatus(index, InFlightGroupState.IN_FLIGHT, kept)
    if order:
        session.in_flight = tuple([statuses[index] for index in sorted(statuses)])


NOTICES: Final = Step("notices", begin=at_start(settle_notices))


class _Noticed:
    """One group with notices."""

    def __init__(self, context: CycleContext, index: int) -> None:
        self._context, self._session, self._index = context, context.session, index
        self._group: InFlightGroup = context.session.cluster.in_flight[index]
        self._victims = self._group.tasks_with_notice(context.session.cluster.tasks)

    def settle(self) -> InFlightGroupStatus:
        """The state of the group, after its moves are on the ledger."""
        session, group = self._session, self._group
        session.stop.check()
        if session.cluster.now >= group.expire_time:
            return self._withdraw(_EXPIRED, InFlightGroupState.EXPIRED)
        action = session.registry.actions.get(group.action)
        if action is None:
            return self._withdraw(_NO_ACTION)
        if group.beneficiary == NOWHERE:
            return self._withdraw(_GONE)
        if action.own_end is not None:
            return self._settle_end(action, action.own_end)
        tasks = self._context.gangs.tasks_to_allocate(group.beneficiary)
        if not tasks or not self._context.gangs.is_ready(group.beneficiary):
            return self._withdraw(_NOT_WANTED)
        if self._starts_on_free_capacity(tasks):
            return self._withdraw(_FITS)
        if not any(hold.pod_group == group.beneficiary for hold in group.reservations):
            return self._withdraw(_NO_HOLDS)
        session.chains.on_search_start(group.beneficiary, tasks)
        with session.statement() as statement:
            rejection, now = self._place(statement, tasks), session.cluster.now
            is_due = now >= group.evict_time
            rejection = rejection or self._check(action, tasks, max(now, group.evict_time), is_due)
            if rejection is not None:
                return self._withdraw(rejection._replace(code=ReasonCode.NOT_NEEDED, until=None))
            if is_due:
                return self._carry_out(statement, action, _DUE)
            if self._are_ready() and self._check(action, tasks, now, is_due=True) is None:
                return self._carry_out(statement, action, _READY)
            return self._keep(statement, action)

    def _settle_end(self, action: Action, own_end: OwnEnd) -> InFlightGroupStatus:
        """The state of a group that ends a pod group for itself: no guard and no validator is asked."""
        session, group = self._session, self._group
        end = own_end.end(session.cluster.pod_groups[group.beneficiary], session.cluster.queues)
        if end is None or end > group.evict_time or not self._victims:
            return self._withdraw(_NO_END)
        session.disruptions.begin(action, group.beneficiary)
        session.disruptions.override()
        with session.statement() as statement:
            for victim in self._victims:
                statement.evict(victim)
            if session.cluster.now < group.evict_time and not self._are_ready():
                return self._keep(statement, action)
            found = self._carry_out(statement, action, _DUE)
            session.add_patch(Patch(group.beneficiary, PatchKind.LAST_EVICTION_TIME, session.cluster.now))
            return found

    def _are_ready(self) -> bool:
        """Whether all victims saved their work after their notice, as they do by their own words."""
        session = self._session
        groups = {session.cluster.tasks[victim].pod_group for victim in self._victims}
        facts = [session.cluster.pod_groups[group].facts.victim for group in groups]
        noticed_since = self._noticed_since()
        return all(_saved_work(each, noticed_since, session.cluster.now) for each in facts)

    def _noticed_since(self) -> int:
        """A time after all earlier notices of the victims, and not after this one.

        What a caller stored of the last notice may be out of date: an earlier one, that was withdrawn. A
        cooldown is between the two. This one is the longest notice of the victims before the eviction.
        """
        session, notices = self._session, self._group.notices
        leads = session.guards.leads
        longest = max(
            [leads[step.pod_group].notice for step in notices if step.pod_group in leads], default=0
        )
        return self._group.evict_time - longest - max(session.options.notice_cooldown - 1, 0)

    def _starts_on_free_capacity(self, tasks: list[int]) -> bool:
        """Bind the beneficiary where no victim is, if all of its next tasks fit (semantics R16.5)."""
        session, pod_group = self._session, self._group.beneficiary
        is_start = session.ledger.allocated[pod_group] == 0
        with session.statement() as statement:
            nodes = self._context.components.node_order.all_nodes
            if self._context.placer.place(statement, pod_group, tasks, nodes) is not None:
                return False
            if any(session.ledger.placements[task].status is not TaskStatus.BINDING for task in tasks):
                return False
            session.commit(statement, ALLOCATE, pod_group, ReasonCode.ALLOCATED)
            patch_start(session, pod_group, is_start)
            return True

    def _place(self, statement: Statement, tasks: Sequence[int]) -> Rejection | None:
        """Evict the victims, and place the reservations on what they leave."""
        for victim in self._victims:
            statement.evict(victim)
        free = [task for task in tasks if task not in {hold.task for hold in self._group.reservations}]
        cluster, placed = self._session.cluster, list[int]()
        for pod_group, holds in self._group.reservations_by_pod_group:
            is_own = pod_group == self._group.beneficiary
            for hold in holds:
                task = hold.task
                if is_own and (
                    task == NOWHERE or cluster.tasks[task].placement.status is not TaskStatus.PENDING
                ):
                    if not free:
                        continue
                    task = free.pop(0)
                if task == NOWHERE or (not is_own and task not in self._victims):
                    continue
                rejection = self._context.placer.place_reserved(
                    statement, task, hold.node, hold.gpu_groups, simulation=True, is_checked=False
                )
                if rejection is not None:
                    return rejection
                placed.append(task)
        problems = map(self._context.placer.violation, placed)
        problem = next((each for each in problems if not (each is None or each is NOT_YET)), None)
        return problem or self._context.placer.capacity(self._group.beneficiary, [])

    def _check(self, action: Action, tasks: Sequence[int], time: int, is_due: bool) -> Rejection | None:
        """Whether a guard or a budget spares a victim as of a time; when it is due, all that may object.

        Rates are not asked: they were charged with the notices.
        """
        batches = tuple(self._batches())
        scenario = Scenario(self._group.beneficiary, tuple(tasks), (), batches)
        session = self._session
        spared = session.guards.allows_scenario(action, scenario, time, is_final=True)
        spared = spared or session.disruptions.exceeded(action, self._group.beneficiary, self._victims, time)
        if spared is not None or not is_due:
            return spared
        ruled = None if action.rule is None else action.rule(self._context).allows_scenario(scenario)
        return ruled or session.chains.allows_scenario(action, scenario)

    def _batches(self) -> Iterator[Batch]:
        of_group: dict[int, list[int]] = {}
        for victim in self._victims:
            of_group.setdefault(self._session.cluster.tasks[victim].pod_group, []).append(victim)
        for pod_group in sorted(of_group):
            yield Batch(pod_group, tuple(of_group[pod_group]))

    def _carry_out(self, statement: Statement, action: Action, why: Rejection) -> InFlightGroupStatus:
        """The evictions that were announced, with what they store."""
        session, group = self._session, self._group
        requeues = self._requeues() if action.name == _REQUEUE else ()
        session.commit(statement, action, group.beneficiary, action.reason, requeues, group.id)
        patch_evictions(session)
        for requeue in requeues:
            session.add_patch(Patch(requeue.pod_group, PatchKind.REQUEUE_NOT_BEFORE, requeue.not_before))
        return InFlightGroupStatus(self._index, InFlightGroupState.SUPERSEDED, why)

    def _requeues(self) -> tuple[Requeue, ...]:
        session, found = self._session, list[Requeue]()
        for batch in self._batches():
            victim, default = (
                session.cluster.pod_groups[batch.pod_group],
                session.options.default_requeue_delay,
            )
            end = session.cluster.now + requeue_delay(victim, session.cluster.queues, default)
            found.append(Requeue(batch.pod_group, end, self._group.beneficiary, ()))
        return tuple(found)

    def _keep(self, statement: Statement, action: Action) -> InFlightGroupStatus:
        """Keep the moves on the ledger for this cycle; they are no decision."""
        session, group = self._session, self._group
        session.commit(statement, action, group.beneficiary, action.reason, (), group.id)
        session.notices.kept.add(group.id)
        session.notices.evict_times[group.beneficiary] = group.evict_time
        session.notices.nodes.update([session.cluster.tasks[task].placement.node for task in self._victims])
        session.wake_times.append(group.evict_time)
        moved = {move.task for move in statement.moves}
        session.reserved_tasks |= moved
        placements = session.ledger.placements
        holds = [task for task in sorted(moved) if placements[task].status is TaskStatus.PIPELINED]
        reserved = tuple(
            [Reserve(t, placements[t].node, placements[t].gpu_groups, placements[t].zones) for t in holds]
        )
        reason = Rejection(ReasonCode.NOTICE_GIVEN, "its victims were given notice", group.evict_time)
        return InFlightGroupStatus(self._index, InFlightGroupState.IN_FLIGHT, reason, reserved)

    def _withdraw(
        self, reason: Rejection, state: InFlightGroupState = InFlightGroupState.CANCELLED
    ) -> InFlightGroupStatus:
        if self._victims:
            group, victims = self._group, tuple(self._victims)
            self._session.notices.withdrawn.append((self._index, victims))
            self._session.disruptions.pacing.give_back(group.action, group.beneficiary, victims)
        return InFlightGroupStatus(self._index, state, reason)


def _saved_work(facts: VictimFacts, noticed_since: int, now: int) -> bool:
    """Whether a pod group that saves its work on notice has done so since its last one (semantics R16.6)."""
    last_notice, saved = facts.last_notice, facts.last_checkpoint
    if not facts.checkpoint_on_notice or last_notice is None or saved is None:
        return False
    return noticed_since <= last_notice <= saved <= now
