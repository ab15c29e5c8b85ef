"""Settings under which Slurm would start, stop or shrink jobs by itself are refused, with the fix."""

from pathlib import Path

import msgspec
import pytest
from tenure.slurm.observe.cluster import Scope
from tenure.slurm.observe.rows import read_nodes
from tenure.slurm.safety import unsafe_settings

RECORDED = Path(__file__).parent / "recorded"
SCOPE = Scope("test", ("gpu", "high", "low"))
NODES = read_nodes((RECORDED / "sinfo.json").read_bytes())
PARTITIONS = [{"PartitionName": name, "OverSubscribe": "NO"} for name in SCOPE.partitions]
Settings = dict[str, str]


@pytest.fixture
def settings() -> Settings:
    lines = (RECORDED / "config.txt").read_text().splitlines()
    return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}


def test_recorded_cluster_is_safe(settings: Settings) -> None:
    assert unsafe_settings(settings, PARTITIONS, NODES, SCOPE) == []


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("PriorityType", "priority/basic", "set PriorityType=priority/multifactor"),
        ("PreemptType", "preempt/qos", "set PreemptType=preempt/none"),
        ("SelectType", "select/linear", "set SelectType=select/cons_tres"),
        ("JobSubmitPlugins", "(null)", "set JobSubmitPlugins=lua"),
        ("SLURM_VERSION", "21.08.8", "22.05 or later is needed"),
        ("MinJobAge", "2 sec", "set MinJobAge=300"),
    ],
)
def test_unsafe_setting_is_refused_with_the_fix(settings: Settings, name: str, value: str, text: str) -> None:
    (problem,) = unsafe_settings({**settings, name: value}, PARTITIONS, NODES, SCOPE)
    assert text in problem


def test_partition_with_shared_gpus_is_refused(settings: Settings) -> None:
    (problem,) = unsafe_settings(
        settings, [{**PARTITIONS[0], "OverSubscribe": "FORCE:4"}, *PARTITIONS[1:]], NODES, SCOPE
    )
    assert problem.startswith("partition gpu has OverSubscribe=FORCE:4; set OverSubscribe=NO")


def test_missing_partition_is_refused(settings: Settings) -> None:
    problems = unsafe_settings(settings, PARTITIONS, NODES, Scope("test", (*SCOPE.partitions, "big")))
    assert problems == ["partition big does not exist"]


def test_partition_of_others_on_the_same_nodes_is_refused(settings: Settings) -> None:
    nodes = [msgspec.structs.replace(node, partitions=["gpu", "debug"]) for node in NODES[:2]]
    (problem,) = unsafe_settings(settings, PARTITIONS, nodes, SCOPE)
    assert problem.startswith("partition debug shares 2 nodes with Tenure, such as n1; remove them from it")


def test_user_without_rights_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 5)
    (problem,) = unsafe_settings({**settings, "SlurmUser": "slurm(64030)"}, PARTITIONS, NODES, SCOPE)
    assert "run the adapter as one of them" in problem
