"""When do pending pod groups start if nothing new arrives, and what is ahead of them?"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Final

from tenure.server.explain.audience_text import (
    STEP,
    AudienceNames,
    AudienceText,
    capital,
    for_all,
    for_operators,
    format_text,
    join,
    moment,
    rounded_up,
)
from tenure.server.explain.explain_result import ExplainResult
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.caller_state import Certainty
from tenure.solver.model.cluster import Cluster
from tenure.solver.play.start_times import Played, Start, StartEstimates, estimate_starts
from tenure.solver.plugin_api.derived import WarmStart
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.terms.durations import format_duration
from tenure.terms.formatting import count_gpus, format_count, format_ordinal, join_words
from tenure.v1 import explain_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.wire.timestamps import timestamp

_MAX_NAMED: Final = 3


class RangeReason(IntEnum):
    """Why a start is given as a range; numbers as on the wire."""

    UNSPECIFIED = 0
    EXPECTED_ENDS = 1
    NO_TIME_LIMIT = 2
    UNKNOWN_ENDS = 3
    STEP = 4
    PLAY_LIMIT = 5
    SEARCH_LIMIT = 6


_SENTENCES: Final = {
    RangeReason.STEP: "Not every end was looked at by itself.",
    RangeReason.SEARCH_LIMIT: "It may start earlier by evictions: not all were looked for.",
}
"""What the times alone do not say."""
_ARRIVALS: Final = "if nothing more important arrives"


def when_starts(
    cluster: Cluster,
    profile: Profile,
    registry: Registry,
    requested: Sequence[int],
    stop: Callable[[], bool],
    warm_start: WarmStart | None = None,
) -> ExplainResult:
    """One estimate for each pod group, by uid; without any, for all that wait.

    `warm_start` is a fork of what sessions on the cluster left.
    """
    found = estimate_starts(cluster, profile, registry, requested, stop, warm_start)
    reported = requested or found.first.pending
    groups = sorted(set(reported), key=lambda index: cluster.pod_groups[index].facts.uid)
    texts = {index: _text(cluster, index, found) for index in groups}
    estimates = [_message(cluster, index, found, texts[index]) for index in groups]
    if len(groups) == 1:
        return ExplainResult(texts[groups[0]], start_estimates=estimates)
    count = sum(estimate.HasField("earliest_start") for estimate in estimates)
    until = format_duration(found.likely.until - cluster.now)
    summary = f"Of {format_count(len(groups), 'pod group')}, {count:,} start within {until}, {_ARRIVALS}."
    return ExplainResult(for_all(summary), start_estimates=estimates)


def encode_start_estimates(
    registry: Registry,
    cluster: Cluster,
    profile: Profile,
    stop: Callable[[], bool],
    warm_start: WarmStart | None,
) -> bytes:
    """Of all that wait, as part of a serialized DecideResponse; nothing if `stop` ends a cycle (R17.24)."""
    try:
        found = when_starts(cluster, profile, registry, (), stop, warm_start)
    except CycleStopped:
        return b""
    return DecideResponse(start_estimates=found.start_estimates).SerializeToString()


def _message(cluster: Cluster, index: int, found: StartEstimates, text: AudienceText) -> pb.StartEstimate:
    uids = cluster.pod_groups
    start, latest = found.likely.starts.get(index), _latest(index, found)
    known = Certainty.UNKNOWN if start is None else start.certainty
    made = pb.StartEstimate(
        pod_group=uids[index].facts.uid,
        certainty=f"CERTAINTY_{known.name}",
        explanation=text.message(),
        range_reasons=[f"RANGE_REASON_{each.name}" for each in _range_reasons(index, found)],
    )
    if (place := found.first.places.get(index)) is not None:
        made.position, made.gpu_milli_ahead = place.position, place.gpu_milli_ahead
        made.ahead.extend([uids[each].facts.uid for each in place.ahead])
    if start is not None:
        made.earliest_start.CopyFrom(timestamp(start.after))
        made.likely_start.CopyFrom(timestamp(start.at))
        made.likely_start_by.CopyFrom(timestamp(start.by))
        for end in start.awaited:
            made.awaited_ends.add(
                pod_group=uids[end.pod_group].facts.uid,
                end_time=timestamp(end.time),
                certainty=f"CERTAINTY_{end.certainty.name}",
            )
    if latest is not None and latest > cluster.now:
        made.latest_start.CopyFrom(timestamp(latest))
    return made


def _latest(index: int, found: StartEstimates) -> int | None:
    """When it starts at the latest: by hard ends, or by likely ones if others overtake it then; or None."""
    likely, hard = found.likely.starts.get(index), found.hard.starts.get(index)
    if hard is None:
        return None
    return hard.by if likely is None else max(hard.by, likely.by)


def _range_reasons(index: int, found: StartEstimates) -> Iterator[RangeReason]:
    """Why times of a pod group that waits are apart, or unset."""
    likely, start, latest = found.likely, found.likely.starts.get(index), _latest(index, found)
    if index not in found.first.places:
        return
    by = likely.until if start is None else start.by
    if start is None and not likely.is_complete:
        yield RangeReason.PLAY_LIMIT
    elif start is None and likely.endless:
        yield RangeReason.UNKNOWN_ENDS
    elif start is not None and start.by - start.after > STEP:
        yield RangeReason.STEP
    if start is not None and latest is None:
        yield RangeReason.NO_TIME_LIMIT if found.hard.is_complete else RangeReason.PLAY_LIMIT
    elif start is not None and latest is not None and latest > start.by:
        yield RangeReason.EXPECTED_ENDS
    if likely.searches_end is not None and likely.searches_end <= by:
        yield RangeReason.SEARCH_LIMIT


def _text(cluster: Cluster, index: int, found: StartEstimates) -> AudienceText:
    names, likely = AudienceNames(cluster, index), found.likely
    who = capital(names.pod_group(index))
    if index in found.first.held:
        return format_text("{who} is held, so it has no place in its queue.", who=who)
    place, start = found.first.places.get(index), likely.starts.get(index)
    if place is None and start is not None and start.by > cluster.now:
        reserved = format_text("{who} has reserved capacity.", who=who)
        return join([reserved, for_all(f"{_when(start, _latest(index, found))}.")])
    if place is None:
        verb = "does not wait" if start is None else "starts in this cycle"
        return format_text("{who} {verb}.", who=who, verb=verb)
    rank = format_text("{who} is {rank} in its queue", who=who, rank=format_ordinal(place.position))
    ahead = count_gpus(place.gpu_milli_ahead)
    before = f", after pod groups that ask for {ahead}" if place.position > 1 else ""
    order = [format_text("{rank}{before}.", rank=rank, before=before)]
    if place.ahead:
        nearest = [names.pod_group(each).operator for each in place.ahead]
        order.append(for_operators(f"Right before it: {join_words(nearest)}."))
    if start is None:
        return join([*order, *_no_start(names, likely)])
    return join(
        [
            *order,
            for_all(f"{_when(start, _latest(index, found))}, {_ARRIVALS}."),
            *_awaited(names, start),
            *[for_all(_SENTENCES[each]) for each in _range_reasons(index, found) if each in _SENTENCES],
        ]
    )


def _when(start: Start, latest: int | None) -> str:
    if start.certainty is Certainty.BOUNDED:
        return f"It starts by {moment(start.by)}"
    at, by = rounded_up(start.at), rounded_up(start.by)
    if latest is not None:
        at, by = min(at, latest), min(by, latest)
    about = f"It starts at about {moment(at)}"
    if start.by - start.after > STEP:
        about += f", between {moment(start.after // STEP * STEP)} and {moment(by)}"
    return about if latest is None else f"{about}, by {moment(latest)} at the latest"


def _awaited(names: AudienceNames, start: Start) -> Iterator[AudienceText]:
    if start.awaited:
        last = start.awaited[0]
        text = "It waits for the end of {other} at {time}."
        yield format_text(text, other=names.pod_group(last.pod_group), time=moment(last.time))


def _no_start(names: AudienceNames, likely: Played) -> Iterator[AudienceText]:
    if not likely.is_complete:
        yield for_all(f"It does not start before {moment(likely.until)}; later times were not looked at.")
        return
    yield for_all("It does not start by known ends of others.")
    if likely.endless:
        count = format_count(len(likely.endless), "pod group")
        verb = "has" if len(likely.endless) == 1 else "have"
        yield for_all(f"{count} that then run {verb} neither an expected runtime nor a time limit.")
        first = [names.pod_group(index).operator for index in likely.endless[:_MAX_NAMED]]
        yield for_operators(f"Among them: {join_words(first)}.")
