"""The command `tenure workloads`."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.client.snapshot_file import write_snapshot
from tenure.v1.state_pb2 import StateDelta

from tests.cli.command import CommandResult, in_process
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot

SAMPLE = Path(__file__).parents[2] / "server/tenure/cli/samples/two-departments.yaml"
Workloads = Callable[..., CommandResult]


@pytest.fixture
def workloads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Workloads:
    """Run the command. FILE is replaced by a snapshot with a running and a pending pod group."""
    file = str(tmp_path / "small.txtpb")
    write_snapshot(small_snapshot(), file)

    tenure = in_process(monkeypatch, capsys)

    def command(*arguments: str) -> CommandResult:
        return tenure("workloads", *(file if argument == "FILE" else argument for argument in arguments))

    return command


def names(ended: CommandResult) -> list[str]:
    assert (ended.code, ended.err) == (0, "")
    return [workload["name"] for workload in json.loads(ended.out)["workloads"]]


def test_the_table_shows_preemptibility_and_marks_the_legacy_rule(workloads: Workloads) -> None:
    ended = workloads("FILE")
    assert (ended.code, ended.err) == (0, "")
    assert re.search(r"runs +0 +Preemptible +2/0/1 ", ended.out)
    assert re.search(r"left +! priority", ended.out)


def test_json_lists_all_pod_groups(workloads: Workloads) -> None:
    assert names(workloads("FILE", "--output", "json")) == ["runs", "waits"]


@pytest.mark.parametrize(
    ("queue", "found"), [("left", ["runs"]), ("right", ["waits"]), ("top", ["runs", "waits"])]
)
def test_queue_option_filters_the_list(queue: str, found: list[str], workloads: Workloads) -> None:
    assert names(workloads("FILE", "--queue", queue, "--output", "json")) == found


def test_server_returns_the_same_list(workloads: Workloads) -> None:
    with run_server() as (_, address):
        there = workloads("FILE", "--server", address, "--output", "json")
    assert there == workloads("FILE", "--output", "json")


def test_rank_and_cost_as_a_victim_are_listed(workloads: Workloads, tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text("plugins: {evictioncost: true}")
    ended = workloads(str(SAMPLE), "--config", str(config), "--output", "json")
    found = {each["name"]: each["as_victim"] for each in json.loads(ended.out)["workloads"]}
    assert found["month-end"] is None
    rank = found["backfill-us"]
    assert (rank["place"], rank["cost_gpu_seconds"], rank["lost_gpu_seconds"]) == (1, 3_600, 3_600)
    assert [(taker["action"], taker["queue"]) for taker in rank["next_for"]] == [
        ("preempt", "analytics"),
        ("reclaim", "serving"),
    ]
    table = " ".join(workloads(str(SAMPLE), "--config", str(config)).out.split())
    assert "evicted first in its queue; next victim of" in table


def test_configuration_determines_the_protections(workloads: Workloads, tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text("plugins: {minruntime: {defaultPreemptMinRuntime: 5000w}}")
    ended = workloads("FILE", "--config", str(config), "--output", "json")
    first, _ = json.loads(ended.out)["workloads"]
    assert [protection["source"] for protection in first["protections"]] == ["default of minruntime"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.yaml"], "tenure: nowhere.yaml: cannot be read: No such file or directory"),
        (["README.md"], "tenure: README.md: cannot infer the format from the file name"),
        (["FILE", "--queue", "north"], "no queue 'north'; known: left, right, top"),
        (["FILE", "--config", "no.yaml"], "tenure: no.yaml: cannot be read"),
        (["FILE", "--config", "no.yaml", "--server", "127.0.0.1:1"], "the server uses its own"),
        (["FILE", "--server", "127.0.0.1:1", "--timeout", "5"], "'5' is not a duration"),
        (["FILE", "--output", "xml"], "'xml' is not one of"),
        ([], "requires either a file or --cluster-id"),
    ],
)
def test_invalid_use_exits_with_2(arguments: list[str], says: str, workloads: Workloads) -> None:
    ended = workloads(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_invalid_snapshot_exits_with_2(workloads: Workloads, tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_text("{}")
    ended = workloads(str(file))
    assert ended.code == 2
    assert "cluster_id: is required" in ended.err


def test_unreachable_server_exits_with_3(workloads: Workloads) -> None:
    ended = workloads("FILE", "--server", "127.0.0.1:1", "--timeout", "300ms")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("tenure: no response from 127.0.0.1:1")


def test_help_names_every_key_of_the_json_form(workloads: Workloads) -> None:
    document = json.loads(workloads("FILE", "--output", "json").out)
    result = workloads("--help")
    assert result.code == 0
    assert "Exit status: 0 listed; 2 " in result.out
    keys = {*document, *document["workloads"][0]}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", result.out)] == []


def test_list_of_a_pushed_state_equals_that_of_its_snapshot(workloads: Workloads) -> None:
    snapshot = small_snapshot()
    snapshot.node_pool = "pool"
    with run_server() as (_, address), Client(address) as client:
        client.put_snapshot("e", snapshot)
        kept = ("--server", address, "--cluster-id", "test", "--node-pool", "pool", "--output", "json")
        assert workloads(*kept).out == workloads("FILE", "--output", "json").out
        assert names(workloads(*kept, "--queue", "left")) == ["runs"]
        ended = workloads("--server", address, "--cluster-id", "test")
    assert ended.code == 3
    assert "unknown state: cluster 'test', node pool ''; check the names" in ended.err


def test_list_of_a_constantly_changing_state_ends(
    workloads: Workloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Client.get_state

    def overtaken(client: Client, *names: str) -> object:
        state, snapshot = read(client, *names)
        client.apply_delta(StateDelta(base=state, version=state.version + 1, now=snapshot.now))
        overtakings.pop()
        if not overtakings:
            monkeypatch.setattr(Client, "get_state", read)
        return state, snapshot

    for times, code in ((4, 0), (5, 3)):
        overtakings = [*range(times)]
        with run_server() as (_, address), Client(address) as client:
            client.put_snapshot("e", small_snapshot())
            monkeypatch.setattr(Client, "get_state", overtaken)
            ended = workloads("--server", address, "--cluster-id", "test")
        assert ended.code == code


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("FILE", "--cluster-id", "test", "--server", "nobody:1"), "requires either a file or --cluster-id"),
        (("--cluster-id", "test"), "requires --server"),
        (("FILE", "--node-pool", "pool"), "requires --cluster-id"),
        (("--cluster-id", "a", "--server", "nobody:1", "--config", "FILE"), "its own configuration"),
    ],
)
def test_state_that_is_not_named_properly_is_a_usage_error(
    workloads: Workloads, arguments: tuple[str, ...], says: str
) -> None:
    ended = workloads(*arguments)
    assert ended.code == 2
    assert says in ended.err
