"""The table of kinds: for every template of the catalog, what checks its sentences."""

import re
from functools import cache
from typing import Final, NamedTuple

from tests.properties.sentences import (
    accounts,
    candidates,
    protections,
    reasons,
    remedies,
    starts,
    victims,
    waiting,
)
from tests.properties.sentences.case import Judge, Said
from tests.properties.sentences.catalog import pattern_of


class Kind(NamedTuple):
    """A kind of sentence, what checks it, and its templates; their variable parts are `{}`."""

    name: str
    judge: Judge
    templates: tuple[str, ...]
    question: str = ""
    """The question whose explanations have such sentences, where others look alike."""


KINDS: Final = (
    Kind("pending because", reasons.pending, ("{} is pending because {}.",)),
    Kind(
        "still pending then",
        waiting.still_pending,
        ("At {} it is still pending because {}", "{}; capacity goes to {}."),
    ),
    Kind(
        "does not start by waiting",
        waiting.never_starts,
        (
            "It does not start by waiting{}.",
            "It does not start in {}, the last at {}",
            "{}; what happens later was not checked.",
        ),
    ),
    Kind("no remedy", remedies.none_helps, ("None of the tested changes would let it start now.",)),
    Kind("usual remedy", remedies.usual, ("Usual remedy: {}.",)),
    Kind("account of GPUs", accounts.account, ("Of {} on nodes that it may use: {}.",)),
    Kind(
        "fragments",
        accounts.fragments,
        ("{} are free on nodes that it may use, at most {} on one node; each of its pods needs {}.",),
    ),
    Kind(
        "place among the pending",
        accounts.position,
        ("It is number {} of {} pending pod groups of its queue.",),
    ),
    Kind(
        "past use",
        starts.past_use,
        ("The fair share of its queue is {}: {} by weight,", "{} after past use of {}."),
    ),
    Kind(
        "capacity went first to",
        starts.earlier_pod_groups,
        (
            "It would have fitted at the beginning of the cycle, but capacity went first to {}.",
            "Those are {}.",
        ),
    ),
    Kind("candidates", candidates.counted, ("{}: {}{} ({}).",)),
    Kind("no candidates", candidates.none, ("{}: no candidates.",)),
    Kind("not eligible", candidates.not_eligible, ("{}: not eligible, because {}.",)),
    Kind(
        "not evicted because",
        candidates.stays,
        (
            "{} is not evicted by {} because {}.",
            "{} is not evicted by {}: {} cannot evict any pod group because {}.",
            "{} is not evicted by {}, which ran after {} had found capacity for {}.",
            "{} is not evicted for itself.",
            "{} is not evicted: {} of the profile can evict it for this preemptor.",
        ),
    ),
    Kind(
        "evicted for",
        candidates.goes,
        ("{} is evicted for {}.", "{} has notice, and is evicted for {}."),
        "why_not_victim",
    ),
    Kind("has no running pod", candidates.does_not_run, ("{} has no running pod that could be evicted.",)),
    Kind(
        "needs no eviction",
        candidates.needs_none,
        ("{} is scheduled without evictions.", "No pod had to be evicted."),
    ),
    Kind("was not needed", candidates.not_needed, ("{} could be evicted for {} by {}, but was not needed.",)),
    Kind("other victims", candidates.others_went, ("Other victims, such as {}, freed enough capacity.",)),
    Kind("keeps running", candidates.keeps_running, ("requeue: it keeps running because {}{}.",)),
    Kind("pending in this cycle", reasons.pending, ("In this cycle, {} is pending because {}.",)),
    Kind("evicted by", victims.evicted, ("{} of {}{}{} evicted for {} by {}{}: {}.",)),
    Kind(
        "own end",
        victims.own_end,
        (
            "{} of {} evicted: it ran below its minimum for longer than its grace period.",
            "{} of {} evicted: its subgroup ran below its minimum for longer than its grace period and has "
            "too few pods to reach it, and another pod group waits for the capacity.",
            "{} of {}{} evicted{}: it reached its time limit.",
        ),
    ),
    Kind(
        "earlier eviction",
        victims.earlier,
        ("{} of {} evicted for {} by an earlier decision that is being applied.",),
    ),
    Kind("not evicted", victims.not_evicted, ("{} is not evicted.",)),
    Kind("disrupted pods", victims.disrupted, ("{} disrupted.", "{} disrupted; {}.")),
    Kind(
        "minimality",
        victims.no_fewer,
        ("{} No fewer are possible.", "{} No victim can be left out."),
    ),
    Kind(
        "fewer would do",
        victims.fewer_suffice,
        (
            "{} {} {} of {} would have been enough.",
            "{} The victims were found by a heuristic: earlier decisions release enough.",
            "The victims were found by a heuristic:",
            "No victim can be left out, but",
        ),
    ),
    Kind(
        "tried sets",
        victims.tried,
        (
            "{} The victims were found by a heuristic; none of {} is enough{}.",
            "{} Smaller sets of victims were not tried.",
        ),
    ),
    Kind("guards that allowed", victims.guards, ("Guards that allowed the eviction: {}.",)),
    Kind("first in victim order", victims.first_in_order, ("It is first in victim order.",)),
    Kind("precede it", victims.precede, ("In victim order, {} precede it",)),
    Kind(
        "next in victim order",
        victims.next_victim,
        ("Next in victim order: {} ({}).", "Then: {} ({})."),
    ),
    Kind(
        "cost",
        victims.cost,
        (
            "Its eviction costs {}, of which {} are lost work.",
            "To evict all of it now costs {}, of which {} are lost work.",
        ),
    ),
    Kind("total cost", victims.total_cost, ("All victims cost {}.",)),
    Kind(
        "next best set",
        victims.next_best,
        (
            "The next best set of victims {}, and lost because {}.",
            "A set of victims that was not looked for {} and does less harm.",
        ),
    ),
    Kind("excess", victims.excess, ("{} more than requested are released.",)),
    Kind("nothing to protect", protections.running, ("{} has no running pods to protect.",)),
    Kind("protected", protections.is_protected, ("{} is protected.",)),
    Kind(
        "not protected",
        protections.is_open,
        ("{} is not protected: it can be evicted at any time, subject to queue and priority rules.",),
    ),
    Kind(
        "protection",
        protections.protection,
        ("Protected from {}: {} {} ({}).", "Not protected from {} ({})."),
    ),
    Kind("leaves", protections.leaving, ("{} of {} {} evicted{} {}.",)),
    Kind("despite protections", protections.despite, ("Its protections do not prevent that.",)),
    Kind(
        "length of a notice", protections.notice, ("Its pods have a notice of {} before an eviction ({}).",)
    ),
    Kind(
        "longest notice",
        protections.longest_notice,
        ("That is the longest notice permitted, in place of {}.",),
    ),
    Kind("notice", protections.given_notice, ("{} of {} {}: {} evicts {} for {} at {}{}. Reason: {}.",)),
    Kind(
        "withdrawn notice",
        protections.withdrawn,
        ("The notice of {} of {} is withdrawn: {} does not need the eviction, or may no longer cause it{}.",),
    ),
    Kind("rank", protections.rank, ("It would be evicted {} in its queue.",)),
    Kind("ranks of a queue", protections.ranks, ("{} running, of which {} may be evicted.",)),
    Kind("next victim", protections.next_taker, ("It is the next victim of {} by {}.",)),
    Kind("taker", protections.taker, ("There, {} is first.",)),
    Kind("scheduled", starts.scheduled, ("{} is scheduled: {} bound to free capacity.",)),
    Kind(
        "reserved capacity",
        starts.has_reserved,
        (
            "{} has reserved capacity for {} and waits for {}.",
            "{} has reserved capacity for {} and waits for {}, with notice until {}.",
        ),
    ),
    Kind("not pending", starts.not_pending, ("{} is not pending.", "{} is not pending: {} running.")),
    Kind("gates", starts.gated, ("{} has no pod to schedule: {} with scheduling gates.",)),
    Kind("place in the queue", starts.waits_in_place, ("{} is {} in its queue{}.",)),
    Kind("no wait", starts.does_not_wait, ("{} does not wait.", "{} starts in this cycle.")),
    Kind(
        "estimated start",
        starts.estimate,
        ("It starts at about {}", "It starts by {}"),
    ),
    Kind("awaited end", starts.awaited, ("It waits for the end of {} at {}.",)),
    Kind(
        "no known start",
        starts.no_start,
        (
            "It does not start before {}; later times were not looked at.",
            "It does not start by known ends of others.",
        ),
    ),
    Kind("starts of all", starts.summary, ("Of {}, {} start within {}, {}.",)),
    Kind(
        "endless pod groups",
        starts.endless,
        ("{} that then run {} neither an expected runtime nor a time limit.",),
    ),
    Kind("names of others", starts.among, ("Among them: {}.", "Right before it: {}.")),
    Kind(
        "planned start",
        starts.kept,
        (
            "It has reserved capacity on {} and starts {}, if nothing more important arrives.",
            "It has reserved capacity on {}, but no start is known: what becomes free is kept for it.",
            "No capacity is reserved for it until {}, because no more became free.",
            "The planned start moved to a later time, because {}.",
        ),
    ),
    Kind("planned starts of others", starts.kept_for, ("Capacity is reserved for {}.",)),
    Kind(
        "what was not looked at",
        starts.stated,
        (
            "Not every change was tested: the deadline was too short.",
            "Not every end was looked at by itself.",
            "It may start earlier by evictions: not all were looked for.",
            "Enough GPUs are free, but too few on one node.",
            "{} has reserved capacity.",
            "{} is held, so it has no place in its queue.",
        ),
    ),
)
OF_DECISIONS: Final = (
    Kind(
        "next evaluation",
        waiting.next_evaluation,
        ("No next evaluation needed.", "Next evaluation needed at {}."),
        "decide",
    ),
)
"""What decisions say beside explanations."""
REMEDIES: Final = {
    "WAIT": (
        Kind("remedy: wait until a time", remedies.wait_until, ("wait until {} UTC; {}.",)),
        Kind(
            "remedy: wait for terminating pods",
            remedies.judge(remedies.without_terminating),
            ("wait until the pods that are terminating are gone; {}.",),
        ),
    ),
    "REDUCE_MINIMUM": (
        Kind(
            "remedy: reduce the minimum",
            remedies.judge(remedies.reduced_minimum),
            ("reduce its minimum from {} to {}; {}.",),
        ),
    ),
    "RAISE_PRIORITY": (
        Kind(
            "remedy: raise the priority",
            remedies.judge(remedies.raised_priority),
            ("raise its priority from {} to {}; {}.",),
        ),
    ),
    "MAKE_PREEMPTIBLE": (
        Kind(
            "remedy: make it preemptible",
            remedies.judge(remedies.made_preemptible),
            ("make it preemptible without opt-outs; {}.",),
        ),
    ),
    "RAISE_QUOTA": (
        Kind(
            "remedy: raise a quota", remedies.judge(remedies.larger_bound), ("raise the {} quota of {}; {}.",)
        ),
    ),
    "RAISE_LIMIT": (
        Kind(
            "remedy: raise a limit", remedies.judge(remedies.larger_bound), ("raise the {} limit of {}; {}.",)
        ),
    ),
    "ADD_NODES": (Kind("remedy: add nodes", remedies.judge(remedies.more_nodes), ("add {} like {}; {}.",)),),
}
"""By the kind of the remedy on the wire."""
GLUE: Final = ("{}, {}.", "{}; {}.", "{}{}; {}.", "{}; {} on {}.", "{} {}.", "{}{}.")
"""Templates without a claim of their own: their parts are in the table."""
UNKNOWN: Final = "without a kind"


def all_kinds() -> tuple[Kind, ...]:
    """Every kind, those of remedies last."""
    return (*KINDS, *OF_DECISIONS, *[kind for kinds in REMEDIES.values() for kind in kinds])


@cache
def _patterns() -> list[tuple[int, re.Pattern[str], Kind]]:
    """The template with the most text of its own first."""
    found = []
    for kind in all_kinds():
        for template in kind.templates:
            text = template if template.endswith(".") else f"{template}{{}}."
            found.append((len(template.replace("{}", "")), pattern_of(text), kind))
    return sorted(found, key=lambda each: -each[0])


def kind_of(said: Said) -> tuple[Kind, Said] | None:
    """The kind of a sentence, with the variable parts of its template; None: the table has none."""
    for _, pattern, kind in _patterns():
        if kind.name.startswith("remedy: ") != (said.question == "remedy"):
            continue
        if kind.question and kind.question != said.question:
            continue
        if (match := pattern.fullmatch(said.text)) is not None:
            return kind, said._replace(parts=tuple([part or "" for part in match.groups()]))
    return None
