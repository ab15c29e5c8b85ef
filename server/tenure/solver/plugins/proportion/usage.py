"""Usage of every queue and its ancestors; follows every move (semantics R4.2, R2.19).

GPUs of a device claim count once, however many tasks use it (semantics R9.41). Cores of semi-preemptible pod
groups are counted on demand by `core_usage`.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE, Placement, TaskStatus
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import Task, add_shares
from tenure.solver.plugin_api.ledger_view import LedgerView
from tenure.solver.plugins.proportion.initial_usage import FIRM, FIRM_CORE, InitialUsage, ShareSum


class UsageDelta(NamedTuple):
    """Change of the GPU usage of a queue."""

    queue: int
    gpu_milli: int
    firm: bool
    """Whether the non-preemptible part changes, instead of the whole."""


class ClaimCharges:
    """Counts the users of each device claim. A claim is charged to the queue of its label.

    Charges depend on the current users, not on the order in which they started to use the claim.
    """

    def __init__(self, cluster: Cluster, fair_share_actions: AbstractSet[str]) -> None:
        self._fair_share_actions = fair_share_actions
        self._claims = cluster.claims
        self._groups = cluster.pod_groups
        self._users = ([0] * len(cluster.claims), [0] * len(cluster.claims))
        """By claim: all tasks that use it, and the non-preemptible tasks among them."""
        self._requested: set[int] = set()
        self._queues: list[int | None] = [None] * len(cluster.claims)
        leaves = {queue.facts.name: queue.index for queue in cluster.queues if queue.is_leaf}
        for task in reversed(cluster.tasks) if cluster.claims else ():
            for claim in task.shape.shared_claims:
                own_queue = cluster.pod_groups[task.pod_group].queue
                self._queues[claim] = leaves.get(cluster.claims[claim].queue_name, own_queue)

    def change(self, task: Task, sign: int) -> Iterator[UsageDelta]:
        """The task starts (sign 1) or stops (sign -1) using its claims."""
        yield from self._change(task, sign, firm=False)
        if self._groups[task.pod_group].is_firm(self._fair_share_actions):
            yield from self._change(task, sign, firm=True)

    def change_firmly(self, task: Task, sign: int) -> Iterator[UsageDelta]:
        """The task, which uses its claims, enters (sign 1) or leaves (sign -1) the core of its pod group."""
        return self._change(task, sign, firm=True)

    def _change(self, task: Task, sign: int, *, firm: bool) -> Iterator[UsageDelta]:
        users = self._users[firm]
        for claim in task.shape.shared_claims:
            users[claim] += sign
            is_first_or_last = users[claim] == max(sign, 0)
            if is_first_or_last:
                yield from self._charge(claim, sign, firm)

    def request(self, task: Task) -> Iterator[UsageDelta]:
        """Request of the task through claims that no earlier task requested."""
        for claim in task.shape.shared_claims:
            if claim not in self._requested:
                self._requested.add(claim)
                yield from self._charge(claim, 1, False)

    def _charge(self, claim: int, sign: int, firm: bool) -> Iterator[UsageDelta]:
        """Claims with devices that other consumers use cost their queue nothing."""
        queue, gpu_milli = self._queues[claim], self._claims[claim].gpu_milli
        if queue is not None and gpu_milli and self._claims[claim].node == NOWHERE:
            yield UsageDelta(queue, sign * gpu_milli, firm)


class Usage:
    """Amounts by queue index, and the amounts at the start of the current search.

    `changed_cores` holds the semi-preemptible pod groups with moves since it was last cleared; initially all.
    """

    def __init__(
        self,
        cluster: Cluster,
        ledger: LedgerView,
        initial: InitialUsage,
    ) -> None:
        queues = len(cluster.queues)
        self._used: list[ShareSum] = []
        self.non_preemptible: list[Share] = [NO_SHARE] * queues
        self.request: list[Share] = [NO_SHARE] * queues
        self._before: list[Share] = [NO_SHARE] * queues
        self._non_preemptible_before: dict[int, Share] = {}
        self._search = 0
        self._changed_in = [-1] * queues
        """The last search in which a queue changed; `_before` is valid for that search only."""
        self.changed_cores = initial.firm_cores.copy()
        self._ledger = ledger
        self._tasks = cluster.tasks
        self._paths = initial.paths
        self.kinds = initial.kinds
        self._queues = cluster.queues
        self._claims = ClaimCharges(cluster, initial.fair_share_actions)
        allocated: list[Share] = [NO_SHARE] * queues
        for sums, totals in (
            (initial.allocated, allocated),
            (initial.firm, self.non_preemptible),
            (initial.request, self.request),
        ):
            self._sum_up(sums, totals)
        self.allocated = allocated
        for queue, (cpu, memory, gpu) in initial.requests_in_vain(cluster, ledger):
            for above in self._queues[queue].path:
                self.request[above] = add_shares(self.request[above], (-cpu, -memory, -gpu))
        if cluster.claims:
            self._count_claims(cluster, initial.impossible)

    @property
    def allocated(self) -> list[Share]:
        """Usage of every queue."""
        return [used.share() for used in self._used]

    @allocated.setter
    def allocated(self, shares: Iterable[Share]) -> None:
        self._used = [ShareSum(share) for share in shares]

    def used(self, queue: int) -> Share:
        """Usage of one queue."""
        return self._used[queue].share()

    def _count_claims(self, cluster: Cluster, impossible: AbstractSet[int]) -> None:
        """Add usage and requests through shared device claims."""
        for task in cluster.tasks:
            if not task.shape.shared_claims:
                continue
            placement = task.placement
            if placement.is_active_allocated:
                self._charge(self._claims.change(task, 1))
            waits = placement.status is TaskStatus.PENDING and task.pod_set is not None
            waits = waits and task.index not in impossible
            if placement.is_allocated or waits:
                for queue, gpu_milli, _ in self._claims.request(task):
                    for above in self._queues[queue].path:
                        self.request[above] = add_shares(self.request[above], (0, 0, gpu_milli))

    def _sum_up(self, sums: Sequence[ShareSum], totals: list[Share]) -> None:
        """Add the sums of the queues to the totals of the queues and their ancestors."""
        for queue, total in zip(self._queues, sums, strict=True):
            share = total.share()
            if share != NO_SHARE:
                for above in queue.path:
                    totals[above] = add_shares(totals[above], share)

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Update the usage of the queues of the task."""
        counted, counts = before.is_active_allocated, after.is_active_allocated
        if counted == counts and before.node == after.node:
            return
        facts = self._tasks[task]
        if counted:
            cpu, memory, gpu = self._ledger.share(facts, before.node)
            self._add(facts.pod_group, (-cpu, -memory, -gpu))
        if counts:
            self._add(facts.pod_group, self._ledger.share(facts, after.node))
        if facts.shape.shared_claims and counted != counts:
            self._charge(self._claims.change(facts, 1 if counts else -1))

    def at_search_start(self, queue: int) -> Share:
        """Usage of the queue at the start of the current search."""
        if self._changed_in[queue] == self._search:
            return self._before[queue]
        return self._used[queue].share()

    def non_preemptible_at_search_start(self, queue: int) -> Share:
        """Non-preemptible usage of the queue at the start of the current search."""
        return self._non_preemptible_before.get(queue, self.non_preemptible[queue])

    def start_search(self) -> None:
        """Start a search."""
        self._search += 1
        self._non_preemptible_before.clear()

    def enter_core(self, task: int, share: Share, sign: int) -> None:
        """The task, with this share, enters (sign 1) or leaves (sign -1) the core of its pod group."""
        facts = self._tasks[task]
        cpu, memory, gpu = share
        self._allocate_firmly(self._paths[facts.pod_group], (sign * cpu, sign * memory, sign * gpu))
        self._charge(self._claims.change_firmly(facts, sign))

    def _add(self, pod_group: int, share: Share) -> None:
        path = self._paths[pod_group]
        self._allocate(path, share)
        kind = self.kinds[pod_group]
        if kind == FIRM:
            self._allocate_firmly(path, share)
        elif kind == FIRM_CORE:
            self.changed_cores.add(pod_group)

    def _charge(self, charges: Iterable[UsageDelta]) -> None:
        for queue, gpu_milli, firm in charges:
            allocate = self._allocate_firmly if firm else self._allocate
            allocate(self._queues[queue].path, (0, 0, gpu_milli))

    def _allocate(self, path: tuple[int, ...], share: Share) -> None:
        changed_in, search = self._changed_in, self._search
        for queue in path:
            used = self._used[queue]
            if changed_in[queue] != search:
                changed_in[queue] = search
                self._before[queue] = used.share()
            used.add(share)

    def _allocate_firmly(self, path: tuple[int, ...], share: Share) -> None:
        for queue in path:
            self._non_preemptible_before.setdefault(queue, self.non_preemptible[queue])
            self.non_preemptible[queue] = add_shares(self.non_preemptible[queue], share)
