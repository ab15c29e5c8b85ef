"""Sentences about protections: guards by their rules alone, and evictions that are tried."""

import re
from collections.abc import Iterator
from dataclasses import replace

from tenure.solver.model.cluster import Cluster
from tenure.terms.durations import format_duration

from tests.properties.checks.guard_checks import narrowest_protection
from tests.properties.checks.guard_facts import ALL, NOTHING
from tests.properties.generators.contested_clusters import ACTIONS
from tests.properties.sentences.applied import with_group
from tests.properties.sentences.case import Case, Said, moments, number
from tests.properties.sentences.victims import steps_of


def running(case: Case, said: Said) -> Iterator[str]:
    """X has no running pods to protect."""
    tasks = case.cluster.pod_groups[said.about].tasks
    if any(case.cluster.tasks[task].placement.is_allocated for task in tasks):
        yield f"{said.text} It has"


def is_protected(case: Case, said: Said) -> Iterator[str]:
    """X is protected: some guard protects it from some action for some pod group of some queue."""
    if not _protects(case, said.about):
        yield f"{said.text} No guard protects it from anything"


def is_open(case: Case, said: Said) -> Iterator[str]:
    """X is not protected: no guard protects all of it from all actions and pod groups."""
    others = [group.index for group in case.cluster.pod_groups if group.index != said.about]
    for action in ACTIONS:
        verdicts = [case.guards.verdicts(action, other, said.about) for other in others]
        if verdicts and all(any(v.protects == ALL for v in each) for each in verdicts):
            yield f"{said.text} All of it is protected from {action}"
            return


def _protects(case: Case, about: int) -> bool:
    others = [group.index for group in case.cluster.pod_groups if group.index != about]
    asking = [(case.guards, other) for other in others] + [
        (case.guards.of(_moved(case.cluster, others[0], queue.index)), others[0])
        for queue in case.cluster.queues
        if others and not queue.children
    ]
    return not others or any(
        verdict.protects != NOTHING
        for guards, other in asking
        for action in ACTIONS
        for verdict in guards.verdicts(action, other, about)
    )


def _moved(cluster: Cluster, pod_group: int, queue: int) -> Cluster:
    """With a pod group in another queue: one from there may come later."""
    return with_group(cluster, pod_group, lambda group: replace(group, queue=queue))


def protection(case: Case, said: Said) -> Iterator[str]:
    """Protected from WHO: PART END (GUARD, SOURCE): the guard says the same of each such pod group.

    Where a narrower protection of the guard exists, that one is compared.
    """
    found = re.search(r"\(([a-z]+), [^()]*\)\.$", said.text)
    if found is None:
        yield f"{said.text} It names no guard"
        return
    protections = list(case.results[said.question, said.about, said.other].protections)
    for asking in case.cluster.pod_groups:
        for action in ACTIONS:
            if asking.index == said.about or _is_impossible(case, action, asking.index, said.about):
                continue
            verdicts = case.guards.verdicts(action, asking.index, said.about)
            verdict = next((each for each in verdicts if each.guard == found[1]), None)
            told = narrowest_protection(case.cluster, protections, found[1], action, asking)
            if verdict is None or told is None:
                continue
            if int(told.scope) < verdict.protects and not _is_core(case, said.about):
                yield f"{said.text} {found[1]} protects more from {asking.facts.name} by {action}"
                return
            if verdict.protects != NOTHING and told.scope and told.until != verdict.until:
                yield f"{said.text} It ends at {verdict.until} against {asking.facts.name} by {action}"
                return


def _is_impossible(case: Case, action: str, asking: int, about: int) -> bool:
    groups = case.cluster.pod_groups
    same = groups[asking].queue == groups[about].queue
    return (action == "preempt" and not same) or (action == "reclaim" and same)


def _is_core(case: Case, about: int) -> bool:
    """Whether its minimum is all of it, so that the two scopes mean the same."""
    return not case.cluster.pod_groups[about].is_elastic


def leaving(case: Case, said: Said) -> Iterator[str]:
    """N pods of X are evicted by ACTION in this cycle, or by an earlier decision."""
    count = number(said.text)
    now = [
        sum(case.cluster.tasks[step.task].pod_group == said.about for step in group.evictions)
        for group in case.decision.groups
        if f"by {group.action} in this cycle" in said.text
    ]
    before = sum(step.pod_group == said.about for g in case.cluster.in_flight for step in g.evictions)
    if count not in now and not (before >= count and "earlier decision" in said.text):
        yield f"{said.text} No such eviction is decided"


def despite(case: Case, said: Said) -> Iterator[str]:
    """Its protections do not prevent that: pods of it do leave."""
    tasks = case.cluster.tasks
    leave = any(
        tasks[step.task].pod_group == said.about for g in case.decision.groups for step in steps_of(g)
    )
    noticed = any(
        step.pod_group == said.about for g in case.cluster.in_flight for step in (*g.evictions, *g.notices)
    )
    withdrawn = any(
        tasks[task].pod_group == said.about for g in case.decision.groups for task in g.notices.withdrawn
    )
    if not (leave or noticed or withdrawn):
        yield f"{said.text} None of its pods leaves"


def notice(case: Case, said: Said) -> Iterator[str]:
    """Its pods have a notice of SPAN: its own, else that of a queue or the default, up to the longest one."""
    options = case.profile.options
    group = case.cluster.pod_groups[said.about]
    own, at = group.facts.victim.notice, group.queue
    while own is None and at is not None:
        own, at = case.cluster.queues[at].facts.notice, case.cluster.queues[at].parent
    own = options.default_notice if own is None else own
    if format_duration(min(own, options.max_notice)) not in said.text:
        yield f"{said.text} It is {format_duration(min(own, options.max_notice))}"


def longest_notice(case: Case, said: Said) -> Iterator[str]:
    """That is the longest notice permitted: more is wanted."""
    if case.profile.options.max_notice <= 0:
        yield f"{said.text} None is"


def given_notice(case: Case, said: Said) -> Iterator[str]:
    """N pods of X are given notice in this cycle, or have it: a decision announces them for that time."""
    end, count = moments(said.text)[-1], number(said.text)
    tasks = case.cluster.tasks
    now = [
        sum(tasks[step.task].pod_group == said.about for step in g.notices.evictions)
        for g in case.decision.groups
        if g.notices.evict_time == end
    ]
    before = [
        sum(step.pod_group == said.about for step in g.notices)
        for g in case.cluster.in_flight
        if g.evict_time == end
    ]
    if count not in (*now, *before, sum(before)):
        yield f"{said.text} No such notice is given"


def withdrawn(case: Case, said: Said) -> Iterator[str]:
    """The notice of N pods of X is withdrawn."""
    tasks = case.cluster.tasks
    spared = [
        sum(tasks[task].pod_group == said.about for task in g.notices.withdrawn) for g in case.decision.groups
    ]
    if number(said.text) not in spared:
        yield f"{said.text} It is not"


def rank(case: Case, said: Said) -> Iterator[str]:
    """It would be evicted Nth in its queue: so many run there that are not protected from everything."""
    queue = case.cluster.pod_groups[said.about].queue
    names = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
    found = re.search(r"evicted (\w+) in", said.text)
    assert found is not None, said.text
    place = names.index(found[1]) + 1 if found[1] in names else number(said.text)
    here = {
        task.pod_group
        for task in case.cluster.tasks
        if task.placement.is_allocated and case.cluster.pod_groups[task.pod_group].queue == queue
    }
    if place > len(here):
        yield f"{said.text} Only {len(here)} run there"


def ranks(case: Case, said: Said) -> Iterator[str]:
    """N pod groups running, of which M may be evicted."""
    total, movable = (int(each) for each in re.findall(r"\d+", said.text)[:2])
    runs = {task.pod_group for task in case.cluster.tasks if task.placement.is_allocated}
    if total != len(runs) or movable > total:
        yield f"{said.text} {len(runs)} run"


def next_taker(case: Case, said: Said) -> Iterator[str]:
    """It is the next victim of ACTION by QUEUE: no guard protects all of it from all that wait there."""
    found = re.search(r"next victim of (\w+) by queue (\S+)\.", said.text)
    assert found is not None, said.text
    queue = case.queue(found[2])
    groups = case.cluster.pod_groups
    waiting = [each.pod_group for each in case.decision.outcomes if groups[each.pod_group].queue == queue]
    if (groups[said.about].queue == queue) == (found[1] == "reclaim"):
        yield f"{said.text} The action takes from other queues"
    if waiting and all(
        any(v.protects == ALL for v in case.guards.verdicts(found[1], each, said.about)) for each in waiting
    ):
        yield f"{said.text} It is protected"


def taker(case: Case, said: Said) -> Iterator[str]:
    """There, Y is first: it waits."""
    other = case.index(said.text)
    waiting = [each.pod_group for each in case.decision.outcomes]
    if other not in waiting:
        yield f"{said.text} It does not wait"
