"""Who uses the GPUs that a pending pod group could use, and who is ahead of it, in words."""

from collections.abc import Iterator
from typing import Final

from tenure.server.explain.audience_text import (
    AudienceNames,
    AudienceText,
    for_all,
    for_operators,
    format_text,
    join,
    moment,
)
from tenure.solver.diagnosis.capacity import GpuAccount, GpuUse, account_gpus, earlier_in_order, line
from tenure.solver.diagnosis.eviction_obstacle import EvictionObstacle
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.queue import MILLION
from tenure.solver.model.resources import GPU
from tenure.terms.formatting import count_gpus, format_count, format_gpus, join_words
from tenure.terms.reason_class import ReasonClass
from tenure.terms.reasons import REASONS, ReasonCode
from tenure.v1 import explain_pb2 as pb
from tenure.wire.timestamps import timestamp

MAX_NAMED: Final = 3
_USES: Final = {
    GpuUse.OWN: "of its own pods",
    GpuUse.TERMINATING: "of terminating pods",
    GpuUse.SCHEDULED_NOW: "given to other pod groups in this cycle",
    GpuUse.RESERVED: "reserved for other pod groups",
    GpuUse.NEVER_EVICTED: "of pod groups that preempt and reclaim never evict for it",
    GpuUse.PROTECTED: "protected",
    GpuUse.NOT_LOWER: "of its queue at no lower priority",
    GpuUse.WITHIN_SHARE: "of other queues within their fair share",
    GpuUse.NOT_RECLAIMABLE: "of other queues, from which its queue may not reclaim",
    GpuUse.OTHER: "of other pods",
}
EVICTABLE: Final = {
    EvictionObstacle.UNTRIED: "evictable by themselves",
    EvictionObstacle.AMOUNTS: "evictable, but not enough",
    EvictionObstacle.FRAGMENTS: "evictable, but on too many nodes",
    EvictionObstacle.FAIR_SHARES: "kept by fair shares",
    EvictionObstacle.PLACES: "evictable, but not where its pods may run",
    EvictionObstacle.SEARCH: "evictable by themselves",
    EvictionObstacle.BOUNDS: "evictable, but a limit or quota would still be exceeded",
}
"""What is said of capacity that could be evicted, by what stops it."""
_STATED: Final = (ReasonClass.INVALID, ReasonClass.EFFORT)
"""Reasons that come before capacity: nothing is claimed of what lies behind them."""
_LIMITS: Final = (
    ReasonCode.OVER_LIMIT,
    ReasonCode.NON_PREEMPTIBLE_OVER_QUOTA,
    ReasonCode.KEPT_FOR_LENDER,
    ReasonCode.NO_NODE_MATCHES,
)


_BY_SHARE: Final = (
    ReasonCode.OVER_FAIR_SHARE,
    ReasonCode.WITHIN_FAIR_SHARE,
    ReasonCode.NO_CAPACITY,
    ReasonCode.QUEUE_ORDER,
)
"""Reasons that can follow from fair shares."""


def describe_capacity(
    replay: CycleReplay, names: AudienceNames, code: ReasonCode
) -> tuple[AudienceText, pb.GpuAccount | None]:
    """Sentences about order, fragments and use of GPUs, and the account that the last ones are made of.

    Empty for reasons that capacity cannot change.
    """
    if REASONS[code].reason_class in _STATED or code in (*_LIMITS, ReasonCode.BLOCKED):
        return join([]), None
    account = account_message(account_gpus(replay, names.own))
    text = join(
        [
            *_order(replay, names, code),
            *_past_use(replay, names, code),
            *([] if account is None else [*_fragments(account, code), _account(account)]),
        ]
    )
    return text, account


def account_message(account: GpuAccount | None) -> pb.GpuAccount | None:
    """Message of the response."""
    if account is None:
        return None
    end = account.protected_until
    return pb.GpuAccount(
        total_gpu_milli=account.total,
        free_gpu_milli=account.free,
        largest_free_gpu_milli=account.largest_free,
        gpu_milli_per_pod=account.per_pod,
        pods=account.pods,
        fitting_pods=account.fitting_pods,
        uses=[
            pb.GpuUse(kind=f"GPU_USE_KIND_{use.name}", gpu_milli=amount)
            for use, amount in account.used.items()
        ],
        protected_until=None if end is None else timestamp(end),
        obstacle=obstacle_name(account.obstacle),
    )


def obstacle_name(kind: EvictionObstacle) -> str:
    """Name of the kind on the wire."""
    name = "UNSPECIFIED" if kind is EvictionObstacle.UNTRIED else kind.name
    return f"EVICTION_OBSTACLE_KIND_{name}"


def _past_use(replay: CycleReplay, names: AudienceNames, code: ReasonCode) -> Iterator[AudienceText]:
    """What past use makes of the fair share of its queue, if it makes a difference (semantics R18.1)."""
    own = replay.cluster.pod_groups[names.own].queue
    status = next((each for each in replay.result.queues if each.queue == own), None)
    if code not in _BY_SHARE or status is None or status.past_use is None or status.by_weight is None:
        return
    share, by_weight = status.fair_share[GPU], status.by_weight[GPU]
    if share != by_weight:
        used = f"{status.past_use[GPU] / MILLION:.2f}"
        text = f"The fair share of its queue is {count_gpus(share)}: {format_gpus(by_weight)} by weight, "
        text += f"{format_gpus(share)} after past use of {used}."
        yield AudienceText("", text, text)


def _order(replay: CycleReplay, names: AudienceNames, code: ReasonCode) -> Iterator[AudienceText]:
    earlier = earlier_in_order(replay, names.own)
    if earlier:
        number = format_count(len(earlier), "other pod group")
        listed = [names.pod_group(index).operator for index in earlier[:MAX_NAMED]]
        more = len(earlier) - len(listed)
        named = join_words([*listed, f"{more:,} more"] if more else listed)
        if code is ReasonCode.QUEUE_ORDER:
            yield for_operators(f"Those are {named}.")
        else:
            yield format_text(
                "It would have fitted at the beginning of the cycle, but capacity went first to {others}.",
                others=AudienceText(number, number, named),
            )
    position, number_pending = line(replay, names.own)
    if position > 1:
        yield for_all(f"It is number {position:,} of {number_pending:,} pending pod groups of its queue.")


def _fragments(account: pb.GpuAccount, code: ReasonCode) -> Iterator[AudienceText]:
    free, per_pod = account.free_gpu_milli, account.gpu_milli_per_pod
    if not (free >= account.pods * per_pod > 0 and account.fitting_pods < account.pods):
        return
    amounts = (
        f"{count_gpus(free)} are free on nodes that it may use, "
        f"at most {format_gpus(account.largest_free_gpu_milli)} on one node; "
        f"each of its pods needs {format_gpus(per_pod)}."
    )
    is_in_reason = code is ReasonCode.FRAGMENTED
    yield AudienceText(
        "" if is_in_reason else "Enough GPUs are free, but too few on one node.", amounts, amounts
    )


def _account(account: pb.GpuAccount) -> AudienceText:
    parts = [f"{format_gpus(account.free_gpu_milli)} free"] if account.free_gpu_milli else []
    for row in account.uses:
        use, until = GpuUse(row.kind), ""
        if use is GpuUse.PROTECTED and account.HasField("protected_until"):
            until = f" until {moment(account.protected_until.ToNanoseconds())} or later"
        what = EVICTABLE[EvictionObstacle(account.obstacle)] if use is GpuUse.EVICTABLE else _USES[use]
        parts.append(f"{format_gpus(row.gpu_milli)} {what}{until}")
    total = count_gpus(account.total_gpu_milli)
    text = f"Of {total} on nodes that it may use: {', '.join(parts)}." if parts else ""
    return AudienceText("", text, text)
