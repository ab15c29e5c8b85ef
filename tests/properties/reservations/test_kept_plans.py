"""Plans that stay as they are are the same without the speedup for them (semantics R17.5, R17.6)."""

from collections.abc import Mapping
from dataclasses import replace

from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.caller_state import PLANNED_STARTS, Certainty, PlannedPods, PlannedStart
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import SPEEDUPS
from tenure.solver.testing import ClusterBuilder

from tests.properties.generators.draw import Draw, SeededDraw
from tests.properties.reservations.judged_reservations import build, draw_story
from tests.solver.reservations.play import MINUTE, Play, profile_with

SEEDS = range(40)
MINUTES = (0, 1, 2, 14, 21, 29, 35, 58, 61)
"""Just before or after pod groups end, and in between."""
PLAIN = tuple(name for name in SPEEDUPS if name != "kept_plans")

FIRM = Preemptibility.NON_PREEMPTIBLE


def starts_of_both(builder: ClusterBuilder, known: Mapping[str, tuple[str, int]]) -> list[object]:
    """Reservations with and without the speedup; `known` are node and start in minutes by pod group."""
    cluster = builder.build()
    groups = {group.facts.uid: group for group in cluster.pod_groups}
    nodes = {node.facts.name: node.index for node in cluster.nodes}
    rows = list[PlannedStart]()
    for name, (node, minutes) in known.items():
        start, shape = cluster.now + minutes * MINUTE, cluster.tasks[groups[name].tasks[0]].shape.index
        place = PlannedPods(nodes[node], shape, 1)
        since = cluster.now - MINUTE
        rows.append(PlannedStart(name, since, since, 1, start, Certainty.BOUNDED, (place,), start))
    cluster = cluster.carrying(PLANNED_STARTS, tuple(rows))
    profile = profile_with(total="8", perQueue="8", maxFraction="1")
    plain = replace(profile, options=replace(profile.options, speedups=PLAIN))
    return [answer(cluster, each).planned_starts for each in (profile, plain)]


def test_later_plans_know_ends_from_their_own_search() -> None:
    builder = ClusterBuilder().node("x", gpus=12).node("y", gpus=4).queue("a", limit=100)
    builder.running(
        "rx", node="x", queue="a", gpus=12, preemptibility=FIRM, started_ago="0m", time_limit="40m"
    )
    builder.running("ry", node="y", queue="a", gpus=4, preemptibility=FIRM, started_ago="0m")
    for name, limit, age in (("k", "300m", "300m"), ("j", "20m", "299m"), ("l", "300m", "298m")):
        builder.pending(name, queue="a", gpus=4, preemptibility=FIRM, created_ago=age, time_limit=limit)
    fast, plain = starts_of_both(builder, {"k": ("y", 30), "j": ("x", 40), "l": ("x", 45)})
    assert fast == plain


def test_same_pods_need_quota_after_a_search() -> None:
    builder = ClusterBuilder().queue("a", quota=12).node("x", gpus=4).node("w", gpus=3)
    builder.node("z", gpus=4, cpus=8).node("v", gpus=20, cpus=8)
    builder.running(
        "rx", node="x", queue="a", gpus=4, preemptibility=FIRM, started_ago="0m", time_limit="30m"
    )
    builder.running(
        "rw", node="w", queue="a", gpus=3, preemptibility=FIRM, started_ago="0m", time_limit="40m"
    )
    semi = {"started_ago": "0m", "time_limit": "90m", "expected_runtime": "10m"}
    mode = Preemptibility.SEMI_PREEMPTIBLE
    builder.pod_group("g", queue="a", preemptibility=mode, min_member=1, **semi)  # type: ignore[arg-type]
    builder.running("g", node="z", gpus=1).running("g", node="z", gpus=3)
    for name, gpus, age in (("i", 4, "300m"), ("j", 3, "299m")):
        options = {"created_ago": age, "time_limit": "300m"}
        builder.pending(name, queue="a", gpus=gpus, cpus=40, preemptibility=FIRM, **options)  # type: ignore[arg-type]
    fast, plain = starts_of_both(builder, {"i": ("x", 30), "j": ("w", 40)})
    assert fast == plain


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
        assert results[0].planned_starts == results[1].planned_starts
        rows = results[0].planned_starts or ()
        kept += sum(row.start is not None and starts.get(row.pod_group) == row.start for row in rows)
        starts = {row.pod_group: row.start for row in rows if row.start is not None}
    return kept


def crowded(draw: Draw) -> ClusterBuilder:
    """Nodes that are full, partly of pods that share GPUs, and pod groups of all sizes that wait for them."""
    bounds = {"limit": draw.choice((8, 12, 40)), "quota": draw.choice((4, 8, 40))}
    builder = ClusterBuilder().queue("a", **bounds)  # type: ignore[arg-type]
    modes = (FIRM, FIRM, Preemptibility.PREEMPTIBLE)
    for node in range(draw.integer(1, 3)):
        gpus = free = draw.choice((4, 8, 12))
        builder.node(f"n{node}", gpus=gpus)
        while free:
            name, size = f"r{node}-{free}", min(draw.choice((0, 0, 1, 2, 4)), free)
            times = {
                "started_ago": f"{draw.integer(0, 30)}m",
                "time_limit": draw.choice(("20m", "40m", "90m")),
            }
            mode, device = draw.choice(modes), (f"n{node}/{free}",)
            if size:
                builder.running(name, queue="a", node=f"n{node}", gpus=size, preemptibility=mode, **times)  # type: ignore[arg-type]
            for part in range(0 if size else draw.integer(1, 2)):
                builder.running(
                    f"{name}-{part}",
                    queue="a",
                    node=f"n{node}",
                    gpus=0.5,
                    gpu_groups=device,
                    preemptibility=mode,
                    **times,  # type: ignore[arg-type]
                )
            free -= size or 1
    for number in range(draw.integer(3, 6)):
        size, count = draw.choice((0.5, 1, 2, 4)), draw.integer(1, 3)
        limit = {"time_limit": draw.choice(("20m", "60m"))} if draw.chance(70) else {}
        builder.pending(
            f"p{number}", queue="a", gpus=size, count=count, preemptibility=draw.choice(modes), **limit
        )  # type: ignore[arg-type]
    return builder


def test_plans_behind_shared_gpus_are_those_of_one_search_for_each() -> None:
    starts = 0
    for seed in range(60):
        draw = SeededDraw(seed)
        play = Play(crowded(draw).build(), profile_with(total="6", perQueue="6", maxFraction="1"))
        for minutes in (0, 1, 15):
            options = replace(play.profile.options, speedups=PLAIN)
            play.cycle(minutes)
            now = replace(play.cluster, now=play.cluster.now + MINUTE)
            fast, plain = (
                answer(now, each) for each in (play.profile, replace(play.profile, options=options))
            )
            assert fast.planned_starts == plain.planned_starts
            starts += sum(row.start is not None for row in fast.planned_starts or ())
    assert starts > 200


def test_reservations_are_those_of_one_search_for_each_plan() -> None:
    assert sum(play_both(seed) for seed in SEEDS) > 100
