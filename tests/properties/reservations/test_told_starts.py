"""Told starts are those of cycles that really run, with and without reservations (semantics R17.22).

All jobs end as they say and nothing arrives, so a start is wrong if it comes before or after the told range.
"""

from typing import Final

import pytest
from tenure.solver.model.caller_state import Certainty
from tenure.solver.play.start_times import estimate_starts
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import BUILT_IN, default_profile

from tests.properties.generators.draw import SeededDraw
from tests.properties.reservations.judged_reservations import LAST, SLACK, Story, build, draw_story
from tests.solver.reservations.play import MINUTE, Play

SEEDS: Final = range(24, 36)
MORE_SEEDS: Final = range(200)
MOST_JOBS: Final = 20


def story_of(seed: int) -> Story | None:
    """A story in which all jobs wait from the beginning, and end by what they say; None: it has too many."""
    story = draw_story(SeededDraw(seed))
    jobs = [job._replace(arrival=0, limit=job.limit or 60, runtime=job.limit or 60) for job in story.jobs]
    return None if len(jobs) > MOST_JOBS else story._replace(jobs=tuple(jobs), is_honest=True)


def with_pods(play: Play) -> set[str]:
    """Jobs with running pods. A job goes on while one of its pods moves."""
    groups = play.cluster.pod_groups
    return {groups[task.pod_group].facts.uid for task in play.cluster.tasks if task.placement.is_allocated}


def real_starts(story: Story, play: Play) -> dict[str, float]:
    """When each job first starts, in minutes.

    Cycles run when something ends, at wake times, and a minute after a cycle that changed something: callers
    report that, and pods that were bound may be evicted then.
    """
    runtimes = {job.name: job.runtime for job in story.jobs}
    begin, now, first = play.cluster.now, 0.0, dict[str, float]()
    begun: dict[str, float] = {}
    left = set(runtimes)
    while left and now < LAST:
        over = {name for name, at in begun.items() if at + runtimes[name] <= now}
        play.end(*over)
        left -= over
        result = play.cycle(now, ends_by_limits=False)
        begun = {name: begun.get(name, now) for name in with_pods(play)}
        first = dict.fromkeys(play.running(), now) | first
        times = [at + runtimes[name] for name, at in begun.items()]
        if result.next_wake_time is not None:
            times.append((result.next_wake_time - begin) / MINUTE)
        is_changed = any(group.evictions or group.bindings for group in result.groups)
        times.append(now + (1 if is_changed else 60))
        now = min(each for each in times if each > now)
    return first


def misses(seed: int, profile: Profile | None) -> list[str]:
    """Starts out of the told range, or without one."""
    story = story_of(seed)
    if story is None:
        return []
    play = build(story)
    if profile is not None:
        play.profile = profile
    begin = play.cluster.now
    play.arrive(*[job.name for job in story.jobs])
    told = estimate_starts(play.cluster, play.profile, BUILT_IN)
    starts = {play.cluster.pod_groups[index].facts.uid: start for index, start in told.likely.starts.items()}
    wrong = list[str]()
    for name, real in real_starts(story, play).items():
        start = starts.get(name)
        if start is None:
            wrong.append(f"seed {seed}: {name} starts at {real}, and nothing was told")
            continue
        after, by = (start.after - begin) / MINUTE, (start.by - begin) / MINUTE
        is_exact = start.after == start.by and start.certainty is Certainty.BOUNDED
        if not after - SLACK <= real <= by + SLACK:
            kind = "exactly" if is_exact else "about"
            wrong.append(f"seed {seed}: {name} starts at {real}, told {kind} {after} to {by}")
    return wrong


@pytest.mark.parametrize("profile", [None, default_profile()], ids=["reservations", "default"])
def test_jobs_start_when_it_was_told(profile: Profile | None) -> None:
    assert [miss for seed in SEEDS for miss in misses(seed, profile)] == []


@pytest.mark.long
@pytest.mark.parametrize("profile", [None, default_profile()], ids=["reservations", "default"])
def test_jobs_start_when_it_was_told_on_many_clusters(profile: Profile | None) -> None:
    assert [miss for seed in MORE_SEEDS for miss in misses(seed, profile)] == []
