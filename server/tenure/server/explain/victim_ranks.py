"""In which order would running pod groups be evicted, by which queues, and at what cost?"""

from collections.abc import Iterator

from tenure.server.explain.audience_text import (
    AudienceNames,
    AudienceText,
    for_all,
    for_operators,
    format_text,
)
from tenure.server.explain.explain_result import ExplainResult
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.victim_rank import VictimRank, victim_ranks
from tenure.terms.formatting import format_count, format_gpu_time, format_ordinal
from tenure.v1 import explain_pb2 as pb

_MAX_COST = 2**63 - 1


def ranks_of_queue(replay: CycleReplay, queue: str) -> ExplainResult:
    """Ranks of all running pod groups of a queue and of those below; "": of all queues."""
    cluster = replay.cluster
    ranks = [
        rank
        for rank in victim_ranks(replay).values()
        if not queue or queue in _queues_of(replay, rank.pod_group)
    ]
    movable = sum(rank.place > 0 for rank in ranks)
    found = f"{format_count(len(ranks), 'pod group')} running, of which {movable:,} may be evicted."
    ranks.sort(key=lambda rank: cluster.pod_groups[rank.pod_group].facts.uid)
    return ExplainResult(for_all(found), victim_ranks=[rank_message(replay, rank) for rank in ranks])


def _queues_of(replay: CycleReplay, pod_group: int) -> tuple[str, ...]:
    queue = replay.cluster.pod_groups[pod_group].queue
    path = () if queue is None else replay.cluster.queues[queue].path
    return tuple([replay.cluster.queues[index].facts.name for index in path])


def rank_message(replay: CycleReplay, rank: VictimRank) -> pb.VictimRank:
    """The rank as a message."""
    groups = replay.cluster.pod_groups
    made = pb.VictimRank(pod_group=groups[rank.pod_group].facts.uid, place=rank.place)
    if rank.price is not None:
        made.cost, made.lost = (min(amount // 1000, _MAX_COST) for amount in rank.price)
    for taker in rank.next_for:
        facts = groups[taker.pod_group].facts
        made.next_for.add(action=taker.action, queue=facts.queue_name, pod_group=facts.uid)
    return made


def rank_sentences(replay: CycleReplay, names: AudienceNames, rank: VictimRank) -> Iterator[AudienceText]:
    """Place, takers and cost of the pod group that the names are for."""
    if rank.place:
        yield for_all(f"It would be evicted {format_ordinal(rank.place)} in its queue.")
    for taker in rank.next_for:
        queue = replay.cluster.pod_groups[taker.pod_group].queue
        assert queue is not None
        text = "It is the next victim of {action} by {queue}."
        yield format_text(text, action=taker.action, queue=names.queue(queue))
        yield for_operators(f"There, {names.pod_group(taker.pod_group).operator} is first.")
    if rank.price is not None:
        cost, lost = (format_gpu_time(amount // 1000) for amount in rank.price)
        yield for_all(f"To evict all of it now costs {cost}, of which {lost} are lost work.")
