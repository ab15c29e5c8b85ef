"""Plans that stay as they are are the same without the speedup for them (semantics R17.5, R17.6)."""

from dataclasses import replace

from tenure.solver.plugin_api.profile import SPEEDUPS

from tests.properties.generators.draw import SeededDraw
from tests.properties.reservations.judged_reservations import build, draw_story

SEEDS = range(40)
MINUTES = (0, 1, 2, 14, 21, 29, 35, 58, 61)
"""Just before or after pod groups end, and in between."""
PLAIN = tuple(name for name in SPEEDUPS if name != "kept_plans")


def play_both(seed: int) -> int:
    """Play cycles with and without the speedup; the number of plans that had a start and kept it."""
    story = draw_story(SeededDraw(seed))
    story = story._replace(arguments=story.arguments | {"perQueue": "4", "total": "4", "maxFraction": "1"})
    fast, plain = build(story), build(story)
    plain.profile = replace(plain.profile, options=replace(plain.profile.options, speedups=PLAIN))
    kept, starts, waiting = 0, dict[str, int](), {job.name: job.arrival for job in story.jobs}
    for minutes in MINUTES:
        arrived = [name for name, arrival in waiting.items() if arrival <= minutes]
        waiting = {name: arrival for name, arrival in waiting.items() if arrival > minutes}
        results = []
        for play in (fast, plain):
            play.arrive(*arrived)
            results.append(play.cycle(minutes))
        assert results[0].groups == results[1].groups
        assert results[0].reservations == results[1].reservations
        rows = results[0].reservations or ()
        kept += sum(row.start is not None and starts.get(row.pod_group) == row.start for row in rows)
        starts = {row.pod_group: row.start for row in rows if row.start is not None}
    return kept


def test_reservations_are_those_of_one_search_for_each_plan() -> None:
    assert sum(play_both(seed) for seed in SEEDS) > 100
