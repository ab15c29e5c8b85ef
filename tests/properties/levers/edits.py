"""What a tenant can write on its running workloads: one function for each lever of the security page."""

from collections.abc import Callable
from typing import Final

from tenure.v1 import snapshot_pb2 as pb

from tests.properties.generators.draw import Draw
from tests.properties.levers.tenant_cluster import Budget, TenantCluster

ACTIONS: Final = ("reclaim", "preempt", "consolidation", "requeue")
PREEMPTIBILITY: Final = "kai.scheduler/preemptibility"
MINUTE: Final = 60
SPANS: Final = (0, MINUTE, 10 * MINUTE, 24 * 60 * MINUTE, 3_650 * 24 * 60 * MINUTE)
FATES: Final = (pb.FATE_REQUEUE, pb.FATE_HOLD, pb.FATE_DELETE, pb.FATE_SUSPEND)
Edit = Callable[[Draw, TenantCluster, pb.PodGroup], None]


def _preemptibility(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.preemptibility = draw.choice((1, 2, 2, 3))  # type: ignore[assignment]


def _annotation(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.preemptibility = pb.PREEMPTIBILITY_UNSPECIFIED
    group.annotations[PREEMPTIBILITY] = draw.choice(("mine", "non-preemptible", "semi-preemptible", ""))


def _priority(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.priority = draw.choice((0, 45, 99, 100, 1_000_000))


def _opt_outs(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    del group.opt_out_actions[:]
    group.opt_out_actions.extend([action for action in ACTIONS if draw.chance(60)])


def _minimum(draw: Draw, cluster: TenantCluster, group: pb.PodGroup) -> None:
    pods = sum(pod.pod_group == group.uid for pod in cluster.snapshot.pods)
    if not group.sub_groups:
        group.min_member = draw.integer(0, pods + 1)


def _sub_groups(draw: Draw, cluster: TenantCluster, group: pb.PodGroup) -> None:
    """Divide its pods among subgroups, some of which do not exist."""
    del group.sub_groups[:]
    names = ("", "one", "two")
    for name in names[1 : draw.integer(1, 3)]:
        group.sub_groups.add(name=name, min_member=draw.integer(0, 3))
    for pod in cluster.snapshot.pods:
        if pod.pod_group == group.uid:
            pod.sub_group = draw.choice(names)


def _queue(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.queue = draw.choice(("", "gone", "top", "x", group.namespace))


def _runtime(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.expected_runtime.seconds = draw.choice(SPANS)


def _min_runtime(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.min_runtime.seconds = draw.choice((-1, *SPANS))


def _notice(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.notice.seconds = draw.choice(SPANS)
    group.checkpoint_on_notice = draw.chance(50)


def _time_limit(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.time_limit.seconds = draw.choice(SPANS)


def _fate(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.on_evict, group.on_time_limit = draw.choice(FATES), draw.choice(FATES)
    group.suspendable = draw.chance(50)


def _hold(draw: Draw, cluster: TenantCluster, group: pb.PodGroup) -> None:
    group.held_by = draw.choice((pb.HOLD_REASON_USER, pb.HOLD_REASON_DEPENDENCY, pb.HOLD_REASON_UNSPECIFIED))
    if draw.chance(30):
        group.release_time.CopyFrom(cluster.snapshot.now)


def _not_before(draw: Draw, cluster: TenantCluster, group: pb.PodGroup) -> None:
    group.not_before_time.seconds = cluster.snapshot.now.seconds + draw.choice((0, 120, 10**8))


def _costs(draw: Draw, cluster: TenantCluster, group: pb.PodGroup) -> None:
    group.eviction_cost = draw.choice((0, 1_000, 2**30))
    group.restart_cost.seconds = draw.choice(SPANS)
    group.checkpoint_interval.seconds = draw.choice(SPANS)
    group.shrink_loses_work = draw.chance(50)
    if draw.chance(50):
        group.last_checkpoint_time.seconds = cluster.snapshot.now.seconds - draw.choice((-600, 0, 600))


def _spans(draw: Draw, _: TenantCluster, group: pb.PodGroup) -> None:
    group.staleness_grace_period.seconds = draw.choice((-1, *SPANS))
    group.termination_grace.seconds = draw.choice(SPANS)
    group.preemption_delay.seconds = draw.choice(SPANS)
    group.requeue_delay.seconds = draw.choice(SPANS)
    group.never_evicts = draw.chance(50)


def _labels(draw: Draw, cluster: TenantCluster, group: pb.PodGroup) -> None:
    for pod in cluster.snapshot.pods:
        if pod.pod_group == group.uid:
            pod.labels["app"] = draw.choice("xyz")
            pod.leader, pod.task_priority = draw.chance(50), draw.integer(-5, 5)


def _budget(draw: Draw, cluster: TenantCluster, group: pb.PodGroup) -> None:
    name = f"budget-{draw.integer(0, 1)}"
    own = [each.uid for each in cluster.own_groups() if draw.chance(50)]
    cluster.budgets = [budget for budget in cluster.budgets if budget.name != name]
    if draw.chance(80):
        cluster.budgets.append(Budget(name, frozenset((group.uid, *own)), draw.choice((0, 1, 2, 99))))


LEVERS: Final[dict[str, Edit]] = {
    "preemptibility": _preemptibility,
    "annotation": _annotation,
    "priority": _priority,
    "opt-outs": _opt_outs,
    "minimum": _minimum,
    "subgroups": _sub_groups,
    "queue": _queue,
    "expected runtime": _runtime,
    "minimum runtime": _min_runtime,
    "notice": _notice,
    "time limit": _time_limit,
    "fate": _fate,
    "hold": _hold,
    "not before": _not_before,
    "costs": _costs,
    "delays": _spans,
    "labels": _labels,
    "budget": _budget,
}


def edit(draw: Draw, cluster: TenantCluster) -> str:
    """Write one value of a running pod group of the tenant; return which."""
    running = [group for group in cluster.own_groups() if cluster.runs(group)]
    name = draw.choice([*LEVERS])
    if not running:
        return ""
    group = draw.choice(running)
    LEVERS[name](draw, cluster, group)
    return f"{name} of {group.uid}"
