"""What happens to a pending pod group if only time passes, in words."""

from tenure.server.explain.audience_text import (
    NOTHING,
    AudienceNames,
    AudienceText,
    explain_pending,
    for_all,
    format_text,
    join,
    moment,
)
from tenure.solver.explain.waiting import MAX_CYCLES, PendingAt, Waiting
from tenure.solver.model.rejection import Rejection
from tenure.terms.formatting import format_count, join_words


def describe_waiting(names: AudienceNames, reason: Rejection, waiting: Waiting) -> AudienceText:
    """Why it does not run when the obstacle of now ends, and whether it runs at all; empty if it does then.

    `reason` is why it is pending now.
    """
    at_end = [each for each in waiting.pending if reason.until is not None and each.time >= reason.until]
    parts = [_still_pending(names, at_end[0])] if at_end else []
    if waiting.result is not None:
        return join(parts)
    if not waiting.is_complete:
        last = waiting.pending[-1].time if waiting.pending else names.cluster.now
        text = f"It does not start in {format_count(MAX_CYCLES, 'cycle')}, the last at {moment(last)}"
        return join([*parts, for_all(f"{text}; what happens later was not checked.")])
    if not waiting.pending:
        return NOTHING
    last_seen = waiting.pending[-1]
    if not at_end or last_seen.rejection.code is not at_end[0].rejection.code:
        parts.append(_still_pending(names, last_seen))
    return join([*parts, for_all("It does not start by waiting.")])


def _still_pending(names: AudienceNames, at: PendingAt) -> AudienceText:
    why = explain_pending(names.cluster, names, names.own, at.rejection)
    text = format_text("At {time} it is still pending because {why}", time=moment(at.time), why=why)
    others = [index for index in at.others if index != names.own]
    if not others:
        return format_text("{text}.", text=text)
    number = format_count(len(others), "other pod group")
    named = join_words([names.pod_group(index).operator for index in others[:3]])
    rest = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return format_text(
        "{text}; capacity goes to {others}.",
        text=text,
        others=AudienceText(number, number, f"{named}{rest}"),
    )
