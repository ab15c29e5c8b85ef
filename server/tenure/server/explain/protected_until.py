"""Until when is a pod group protected, by which guards, and from which preemptors?"""

from collections import Counter
from collections.abc import Iterator

from tenure.server.explain.audience_text import (
    AudienceNames,
    AudienceText,
    capital,
    for_all,
    format_text,
    join,
    moment,
)
from tenure.server.explain.explain_result import ExplainResult
from tenure.server.explain.notices import describe_new, describe_standing
from tenure.server.explain.victim_ranks import rank_message, rank_sentences
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.victim_rank import victim_ranks
from tenure.solver.model.decision import InFlightGroupState
from tenure.solver.model.inherited_settings import notice_period
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.verdict import Protection, ProtectionScope
from tenure.terms.durations import format_duration
from tenure.terms.formatting import format_count, join_words


def find_pending_evictions(replay: CycleReplay) -> Iterator[tuple[int, int]]:
    """(beneficiary, task) of each incomplete eviction of a group that stays in flight."""
    cluster = replay.cluster
    for status in replay.result.in_flight:
        group = cluster.in_flight[status.group]
        if status.state is not InFlightGroupState.IN_FLIGHT or group.beneficiary == NOWHERE:
            continue
        for eviction in group.evictions:
            task = eviction.task
            if task != NOWHERE and cluster.tasks[task].placement.node == eviction.node:
                yield group.beneficiary, task


def protected_until(replay: CycleReplay, pod_group: int) -> ExplainResult:
    """Protections of a running pod group; exceptions follow the protection that they narrow."""
    cluster, names = replay.cluster, AudienceNames(replay.cluster, pod_group)
    who = capital(names.pod_group(pod_group))
    if not any(
        cluster.tasks[task].placement.status.is_allocated for task in cluster.pod_groups[pod_group].tasks
    ):
        return ExplainResult(format_text("{who} has no running pods to protect.", who=who))
    found = replay.before_actions().session.chains.protections([pod_group])
    leaving = list(_evictions(replay, names))
    rank = victim_ranks(replay)[pod_group]
    ranks = [rank_message(replay, rank)]
    notes = [*rank_sentences(replay, names, rank), *_notice(replay, names)]
    is_protected = any(protection.scope for protection in found)
    if not is_protected:
        text = "{who} is not protected: it can be evicted at any time, subject to queue and priority rules."
        return ExplainResult(join([format_text(text, who=who), *leaving, *notes]), victim_ranks=ranks)
    first_sentences = [format_text("{who} is protected.", who=who)]
    if leaving:
        first_sentences = [*leaving, for_all("Its protections do not prevent that.")]
    ends = [protection.until for protection in found if protection.scope and protection.until is not None]
    sentences = (_sentence(replay, names, protection) for protection in found)
    end = min(ends, default=None)
    return ExplainResult(join([*first_sentences, *sentences, *notes]), (), found, end, victim_ranks=ranks)


def _notice(replay: CycleReplay, names: AudienceNames) -> Iterator[AudienceText]:
    """The notice of its pods before an eviction, and what cuts it (semantics R16.1)."""
    cluster, options = replay.cluster, replay.profile.options
    wanted, source = notice_period(cluster.pod_groups[names.own], cluster.queues, options.default_notice)
    most = options.max_notice
    if not (most and wanted):
        return
    by = names.source("", source) if source.startswith("queue ") else for_all(source)
    span = format_duration(min(wanted, most))
    yield format_text("Its pods have a notice of {span} before an eviction ({source}).", span=span, source=by)
    if wanted > most:
        yield for_all(f"That is the longest notice permitted, in place of {format_duration(wanted)}.")


def _evictions(replay: CycleReplay, names: AudienceNames) -> Iterator[AudienceText]:
    """Which of its pods are evicted, and for which pod groups; by earlier decisions first."""
    tasks, groups = replay.cluster.tasks, replay.result.groups
    earlier = Counter(
        other for other, task in find_pending_evictions(replay) if tasks[task].pod_group == names.own
    )
    for beneficiary, number in sorted(earlier.items()):
        yield _eviction(names, number, beneficiary, "by an earlier decision that is being applied")
    for group in groups:
        number = sum(tasks[each.task].pod_group == names.own for each in group.evictions)
        if number:
            yield _eviction(names, number, group.beneficiary, f"by {group.action} in this cycle")
    yield from describe_standing(replay, names)
    yield from describe_new(replay, names)


def _eviction(names: AudienceNames, number: int, beneficiary: int, how: str) -> AudienceText:
    is_own = beneficiary in (NOWHERE, names.own)
    return format_text(
        "{pods} of {who} {be} evicted{purpose} {how}.",
        pods=format_count(number, "pod"),
        who=names.pod_group(names.own),
        be="is" if number == 1 else "are",
        purpose="" if is_own else format_text(" for {other}", other=names.pod_group(beneficiary)),
        how=how,
    )


def _sentence(replay: CycleReplay, names: AudienceNames, protection: Protection) -> AudienceText:
    preemptors = _preemptors(replay, names, protection)
    by = format_text(
        "{guard}, {source}", guard=protection.guard, source=names.source(protection.guard, protection.source)
    )
    if protection.scope is ProtectionScope.NOTHING:
        return format_text("Not protected from {preemptors} ({by}).", preemptors=preemptors, by=by)
    part = "its minimum" if protection.scope is ProtectionScope.CORE else "all pods"
    end = "while running" if protection.until is None else f"until {moment(protection.until)}"
    text = "Protected from {preemptors}: {part} {end} ({by})."
    return format_text(text, preemptors=preemptors, part=part, end=end, by=by)


def _preemptors(replay: CycleReplay, names: AudienceNames, protection: Protection) -> AudienceText:
    is_all = set(protection.actions) >= set(replay.registry.guarded.names)
    actions = for_all("" if is_all else f" (by {join_words(list(protection.actions))})")
    return join([_against(names, protection), actions], "")


def _against(names: AudienceNames, protection: Protection) -> AudienceText:
    """All pod groups, those of a queue and its descendants, or one pod group."""
    if protection.against_pod_group is not None:
        return names.pod_group(protection.against_pod_group)
    if not protection.against:
        return for_all("all pod groups")
    return format_text("pod groups in {queue}", queue=names.queue_by_name(protection.against))
