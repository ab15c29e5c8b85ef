"""The plugin `shortest`: shorter pod groups first, within a bound, by what is known of their runtimes."""

import ast
from pathlib import Path

import pytest
from tenure.simulator.runs import RunInput, play
from tenure.solver.cycle import decide
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.queue_runtimes import QUEUE_RUNTIMES, QueueRuntimes
from tenure.solver.model.requeue import ParsedValue, RequeueSettings
from tenure.solver.plugin_api import SECOND, PluginConfig, Profile
from tenure.solver.registry import BUILT_IN, check_profile, default_profile, with_required_plugins
from tenure.solver.testing import ClusterBuilder
from tenure.terms.runtimes import LAST_RUNTIMES
from tenure.v1.snapshot_pb2 import QueueRuntimes as Row
from tenure.wire.runtime_history import add_runtime

from tests.simulator.played import job, run_input
from tests.solver.sessions import plugin_of

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


def profile(**arguments: str) -> Profile:
    default = default_profile()
    return Profile(default.actions, (*default.plugins, PluginConfig("shortest", arguments)), default.options)


def pending(builder: ClusterBuilder, name: str, runtime: int = 0, **options) -> ClusterBuilder:
    """A pod group of one GPU with an expected runtime in nanoseconds; 0: none."""
    said = RequeueSettings(ParsedValue(runtime or None))
    builder.pod_group(name, queue="q", requeue=said, **options)
    return builder.pending(name, gpus=1)


def order(cluster: Cluster, **arguments: str) -> list[str]:
    session = Session.open(cluster, with_required_plugins(profile(**arguments)), BUILT_IN)
    groups = [group for group in cluster.pod_groups if group.tasks]
    idle = session.ledger.active_allocated
    groups.sort(key=lambda group: (session.pod_group_key(group.index, idle), group.rank))
    return [group.facts.uid for group in groups]


def expected(cluster: Cluster, uid: str, **arguments: str) -> int | None:
    session = Session.open(cluster, with_required_plugins(profile(**arguments)), BUILT_IN)
    plugin = plugin_of(session, "shortest")
    return plugin.expected_runtime(next(each for each in cluster.pod_groups if each.facts.uid == uid))


def test_shorter_pod_groups_go_first_within_a_bound_r17_30() -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q")
    pending(builder, "long", 10 * HOUR, created_ago="20h")
    pending(builder, "short", HOUR, created_ago="1h")
    pending(builder, "unknown", created_ago="3h")
    cluster = builder.build()
    # due 10 h from now (30 h after its creation), 2 h from now, and 33 h from now
    assert order(cluster) == ["short", "long", "unknown"]
    assert order(cluster, maxDelay="4h") == ["long", "unknown", "short"]  # by age: all wait for 4 h or less
    assert order(cluster, weight="1") == ["long", "short", "unknown"]


def test_priority_goes_before_runtimes_r17_30() -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q")
    pending(builder, "long", 10 * HOUR, priority=75)
    pending(builder, "short", HOUR, priority=50)
    assert order(builder.build()) == ["long", "short"]


@pytest.mark.parametrize(
    ("sources", "runtime"),
    [
        ("expected,limit", HOUR),
        ("limit,expected", 2 * HOUR),
        ("history, expected", 90 * SECOND),
        ("queue", None),
    ],
)
def test_the_first_source_that_knows_a_runtime_counts_r17_31(sources: str, runtime: int | None) -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q")
    pending(builder, "a", HOUR, time_limit="2h")
    builder.carrying(QUEUE_RUNTIMES, QueueRuntimes(0, 0, ((1_000, (90,)),)))
    assert expected(builder.build(), "a", sources=sources) == runtime


def test_what_ran_longer_than_it_said_loses_its_place_and_no_guard_r17_31_r17_33() -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q")
    pending(builder, "liar", HOUR, created_ago="9h", started_ago="8h", evicted_ago="5h")
    pending(builder, "honest", 2 * HOUR, created_ago="9h")
    cluster = builder.build()
    assert expected(cluster, "liar") == 4 * HOUR  # it ran for 3 h
    assert order(cluster) == ["honest", "liar"]


def test_what_runs_longer_than_it_said_is_a_victim_before_others_r17_31() -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q")
    for name, runtime in (("liar", "1h"), ("honest", "3h")):
        builder.pod_group(name, queue="q", expected_runtime=runtime, created_ago="3h", started_ago="150m")
        builder.running(name, node="n", gpus=1)
    cluster = builder.build()
    assert [expected(cluster, name) for name in ("liar", "honest")] == [4 * HOUR, 3 * HOUR]
    assert order(cluster) == ["honest", "liar"]  # victims are in the reversed order


def test_a_prediction_is_the_median_of_the_last_of_its_size_r17_32() -> None:
    builder = ClusterBuilder().node("n", gpus=8).queue("q").queue("r")
    builder.pod_group("a", queue="q").pending("a", gpus=1, count=2)
    builder.pod_group("b", queue="q").pending("b", gpus=4)
    runs = (9_999, *range(100, 100 + LAST_RUNTIMES))
    builder.carrying(
        *(QUEUE_RUNTIMES, QueueRuntimes(0, 0, ((1_000, (7,)), (2_000, runs)))),
        QueueRuntimes(1, 0, ((4_000, (7,)),)),
    )
    cluster = builder.build()
    assert expected(cluster, "a") == 107 * SECOND  # of 16, the smaller one of the two in the middle
    assert expected(cluster, "b") is None


def test_no_guard_and_no_nomination_reads_a_prediction_r17_33() -> None:
    """A pod group past its predicted runtime is not requeued for one of higher priority."""
    builder = ClusterBuilder().node("n", gpus=1).queue("q")
    builder.pod_group("old", queue="q", priority=50, started_ago="5h").running("old", node="n", gpus=1)
    builder.pod_group("new", queue="q", priority=75).pending("new", gpus=1)
    builder.carrying(QUEUE_RUNTIMES, QueueRuntimes(0, 0, ((1_000, (60,)),)))
    requeue = Profile(("allocate", "requeue"), profile().plugins, profile().options)
    result = decide(builder.build(), with_required_plugins(requeue), registry=BUILT_IN).close()
    assert not result.groups


@pytest.mark.parametrize(
    ("argument", "value"),
    [("weight", "0"), ("weight", "1.5"), ("maxDelay", "0s"), ("sources", ""), ("sources", "limit,limit")],
)
def test_an_invalid_argument_is_refused(argument: str, value: str) -> None:
    ((path, _),) = check_profile(profile(**{argument: value}))
    assert path.endswith(f"arguments.{argument}")


def test_it_is_written_through_the_public_doors_alone() -> None:
    source = Path(__file__).parents[3] / "server/tenure/solver/plugins/shortest.py"
    tree = ast.parse(source.read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name and name.startswith("tenure")} == {"tenure.solver.plugin_api"}


def test_a_caller_keeps_the_last_runtimes_of_each_size() -> None:
    row = Row(queue="q")
    for number in range(LAST_RUNTIMES + 3):
        add_runtime(row, 1_000, number, 1_000 + number)
    add_runtime(row, 8_000, 5, 900)
    sizes = {size.gpu_milli: list(size.seconds) for size in row.sizes}
    assert sizes == {1_000: list(range(3, LAST_RUNTIMES + 3)), 8_000: [5]}
    assert row.time.seconds == 1_000 + LAST_RUNTIMES + 2


def waits(run: RunInput) -> dict[str, int]:
    played = play(run)
    assert played.metrics["cluster"]["unbalanced_milli_gpu_ns"] == 0
    assert not played.violations
    return {
        each.job.name: ((each.first_start or 0) - each.job.submit) // SECOND for each in played.results.jobs
    }


def test_a_simulation_predicts_by_the_jobs_that_ended() -> None:
    """Jobs of 4 GPUs take an hour and those of 8 a minute, which no job says."""
    first = [job("four", 0, 3_600, 4), job("eight", 4_000, 60, 8)]
    later = [job("busy", 5_000, 600, 8), job("a-four", 5_010, 3_600, 4), job("b-eight", 5_020, 60, 8)]
    plain, ordered = waits(run_input([*first, *later])), waits(run_input([*first, *later], policy=profile()))
    assert (plain["a-four"], plain["b-eight"]) == (590, 4_180)
    assert (ordered["a-four"], ordered["b-eight"]) == (650, 580)
