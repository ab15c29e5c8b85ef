"""A pod group that waits long is ordered as if its priority were higher (R17.16)."""

from pathlib import Path
from random import Random
from re import escape
from typing import Final

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.settings import ConfigurationError, load_settings
from tenure.solver.diagnosis.answer import answer as decide_cycle
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import check_profile, default_profile
from tenure.solver.testing import ClusterBuilder

from tests.requirements.answers import bound, evicted
from tests.requirements.cluster import NOW, ClusterText, ago
from tests.requirements.conftest import Decide

AGING: Final = "plugins: {aging: true}\n"
OTHERS: Final = {52: ["old-0"], 53: ["new-0"], 54: ["new-0"]}


def waiting(priority: int, **old: Timestamp) -> ClusterText:
    """`old` of priority 50 has waited for 3h20m, and `new` waits since now; there is one GPU."""
    cluster = ClusterText().node().queue("q").waits("old", "q", priority=50)
    cluster.waits("new", "q", priority=priority)
    cluster.group("old").creation_time.CopyFrom(ago("200m"))
    cluster.group("new").creation_time.CopyFrom(ago("0s"))
    for field, moment in old.items():
        getattr(cluster.group("old"), field).CopyFrom(moment)
    return cluster


@pytest.mark.parametrize(("priority", "expected"), OTHERS.items())
def test_wait_counts_as_priority(decide: Decide, priority: int, expected: list[str]) -> None:
    """E17.5: it is ordered as 53. Among equals, its own priority decides."""
    assert bound(decide(waiting(priority), AGING)) == expected
    assert bound(decide(waiting(priority))) == ["new-0"]


BEGINS: Final = {
    "its last eviction": {"last_eviction_time": ago("10m")},
    "the end of its last hold": {"eligible_time": ago("10m")},
    "the time before which it could not start": {"not_before_time": ago("10m")},
    "a creation in the future": {"creation_time": Timestamp(seconds=NOW + 3_600)},
}


@pytest.mark.parametrize("begin", BEGINS.values(), ids=BEGINS)
def test_wait_begins_again_with(decide: Decide, begin: dict[str, Timestamp]) -> None:
    """E17.5: after an eviction its wait starts at 0."""
    assert bound(decide(waiting(51, **begin), AGING)) == ["new-0"]


def test_times_before_its_creation_do_not_lengthen_its_wait(decide: Decide) -> None:
    for field in ("last_eviction_time", "eligible_time", "not_before_time"):
        assert bound(decide(waiting(53, **{field: ago("30d")}), AGING)) == ["new-0"]


def test_wait_adds_at_most_the_maximum(decide: Decide) -> None:
    cluster = waiting(60)
    cluster.group("old").creation_time.CopyFrom(ago("30d"))
    assert bound(decide(cluster, AGING)) == ["new-0"]
    assert bound(decide(cluster, "plugins: {aging: {max: '11'}}\n")) == ["old-0"]
    assert bound(decide(waiting(55), "plugins: {aging: {step: '3', interval: 90m}}\n")) == ["old-0"]
    assert bound(decide(waiting(56), "plugins: {aging: {step: '3', interval: 90m}}\n")) == ["new-0"]


def test_wait_lets_nothing_be_evicted_and_protects_nothing(decide: Decide) -> None:
    """E17.5: it evicts and is evicted as 50."""
    cluster = ClusterText().node().queue("q").runs("running", "q", priority=50)
    cluster.waits("old", "q", priority=50)
    assert evicted(decide(cluster, AGING)) == []
    cluster = ClusterText().node().queue("q").runs("running", "q", priority=50)
    cluster.waits("new", "q", priority=51)
    assert evicted(decide(cluster, AGING)) == ["running-0"]


def test_victims_yield_by_their_own_priority(decide: Decide) -> None:
    """`first` is a year older, but of lower priority."""
    cluster = ClusterText().node(gpus=2).queue("q")
    cluster.runs("first", "q", priority=50).runs("second", "q", priority=51)
    cluster.group("second").creation_time.CopyFrom(ago("1h"))
    cluster.waits("new", "q", priority=60)
    assert evicted(decide(cluster, AGING)) == ["first-0"]


WRONG: Final = {
    "{interval: 10ms}": "plugins.aging.interval: '10ms' is too short: write at least 1s",
    "{interval: soon}": "plugins.aging.interval: 'soon' is not a duration",
    "{step: '-1'}": "plugins.aging.step: '-1' is not a number of priorities from 0 to 1000000000",
    "{max: '1.5'}": "plugins.aging.max: '1.5' is not a number of priorities from 0 to 1000000000",
}


@pytest.mark.parametrize(("arguments", "problem"), WRONG.items())
def test_invalid_arguments_are_named(tmp_path: Path, arguments: str, problem: str) -> None:
    file = tmp_path / "tenure.yaml"
    file.write_text(f"plugins: {{aging: {arguments}}}\n")
    with pytest.raises(ConfigurationError, match=escape(f"{file}: {problem}")):
        load_settings(file)


def test_list_with_aging_behind_priority_is_refused() -> None:
    plugins = [*default_profile().plugins, PluginConfig("aging")]
    problems = check_profile(Profile(default_profile().actions, tuple(plugins)))
    assert [text for _, text in problems] == ["must precede the plugin priority: list it before"]


@pytest.mark.parametrize("seed", range(150))
def test_resubmission_never_brings_a_pod_group_forward(seed: int) -> None:
    """Of random pod groups that wait, one that does not start does not start as a new one either."""
    random = Random(seed)
    groups = {
        f"g{i}": {
            "priority": 50 + random.randrange(6),
            "created_ago": f"{random.randrange(900)}m",
            **({"evicted_ago": f"{random.randrange(900)}m"} if random.random() < 0.3 else {}),
            **({"eligible_ago": f"{random.randrange(900)}m"} if random.random() < 0.3 else {}),
        }
        for i in range(6)
    }
    first = _starts(groups)
    assert len(first) == 3
    for name in groups.keys() - first:
        fresh = {**groups[name], "created_ago": "0m"}
        fresh.pop("evicted_ago", None)
        fresh.pop("eligible_ago", None)
        again = _starts({**{n: each for n, each in groups.items() if n != name}, f"z-{name}": fresh})
        assert f"z-{name}" not in again


PROFILE: Final = Profile(("allocate",), (PluginConfig("aging"), *default_profile().plugins))


def _starts(groups: dict[str, dict[str, object]]) -> set[str]:
    builder = ClusterBuilder().node("n", gpus=3).queue("q", quota=3)
    for name, options in groups.items():
        builder.pending(name, queue="q", gpus=1, **options)
    cluster = builder.build()
    result = decide_cycle(cluster, PROFILE)
    bindings = [bind.task for group in result.groups for bind in group.bindings]
    return {cluster.pod_groups[cluster.tasks[task].pod_group].facts.name for task in bindings}
