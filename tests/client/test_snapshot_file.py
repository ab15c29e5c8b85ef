"""Snapshot files: every format round-trips, and errors are reported."""

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import EnumDescriptor
from tenure.client.snapshot_file import (
    ENDINGS,
    MAX_ERRORS,
    Format,
    SnapshotFileError,
    format_of,
    read_snapshot,
    write_snapshot,
)
from tenure.terms.durations import SECOND
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.small_snapshot import small_snapshot


def read_error(file: Path, content: str | bytes) -> str:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(SnapshotFileError) as caught:
        read_snapshot(str(file))
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines)
    return "\n".join(line.removeprefix(f"{file}: ") for line in lines)


@pytest.mark.parametrize("ending", ENDINGS)
def test_written_snapshot_is_read_back(tmp_path: Path, ending: str) -> None:
    file = str(tmp_path / f"cluster{ending}")
    snapshot = small_snapshot()
    snapshot.queues[0].reclaim_min_runtime.seconds = 90
    snapshot.nodes[0].labels.update({"on": "yes", "time": "2020-01-01", "number": "1e3", "name": "größe"})
    write_snapshot(snapshot, file)
    assert read_snapshot(file) == snapshot


@pytest.mark.parametrize("form", Format)
def test_explicit_format_overrides_the_file_extension(tmp_path: Path, form: Format) -> None:
    file = str(tmp_path / "cluster.json")
    write_snapshot(small_snapshot(), file, form)
    assert read_snapshot(file, form) == small_snapshot()


@pytest.mark.parametrize("form", [Format.JSON, Format.YAML])
def test_field_names_are_those_of_the_contract(tmp_path: Path, form: Format) -> None:
    file = tmp_path / "cluster"
    write_snapshot(small_snapshot(), str(file), form)
    assert "pod_groups" in file.read_text()
    assert "podGroups" not in file.read_text()


def test_camel_case_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text('{"clusterId": "c", "podGroups": [{"minMember": 3}]}')
    assert read_snapshot(str(file)).pod_groups[0].min_member == 3


DURATIONS = {
    "10m": 600 * SECOND,
    "600s": 600 * SECOND,
    "1h30m": 5400 * SECOND,
    ".5h": 1800 * SECOND,
    "+1h": 3600 * SECOND,
    "1.h": 3600 * SECOND,
    "1.5s": 1_500_000_000,
    "1000.000000001s": 1000 * SECOND + 1,
    "-1s": -SECOND,
    "-0.5s": -SECOND // 2,
    "7\u00b5s": 7000,
    "7\u03bcs": 7000,
    "2d": 172_800 * SECOND,
    "0": 0,
}


@pytest.mark.parametrize("ending", [".json", ".yaml"])
@pytest.mark.parametrize(("text", "nanoseconds"), DURATIONS.items())
def test_duration_is_written_as_in_the_configuration(
    tmp_path: Path, ending: str, text: str, nanoseconds: int
) -> None:
    file = tmp_path / f"cluster{ending}"
    file.write_text(f'{{"queues": [{{"name": "a", "preempt_min_runtime": "{text}"}}]}}')
    assert read_snapshot(str(file)).queues[0].preempt_min_runtime.ToNanoseconds() == nanoseconds


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("pods: [{status: RUNNING}]", pb.POD_STATUS_RUNNING),
        ("pods: [{status: Running}]", pb.POD_STATUS_RUNNING),
        ("pods: [{status: POD_STATUS_RUNNING}]", pb.POD_STATUS_RUNNING),
        ("pods: [{status: 6}]", pb.POD_STATUS_RUNNING),
        ("pods: [{status: stuck-in-releasing}]", pb.POD_STATUS_STUCK_IN_RELEASING),
        ("podColumns: {status: [RUNNING]}", pb.POD_STATUS_RUNNING),
        ("podGroups: [{preemptibility: NON_PREEMPTIBLE}]", pb.PREEMPTIBILITY_NON_PREEMPTIBLE),
        ("podGroups: [{preemptibility: non-preemptible}]", pb.PREEMPTIBILITY_NON_PREEMPTIBLE),
        ("nodes: [{taints: [{effect: NoSchedule}]}]", pb.TAINT_EFFECT_NO_SCHEDULE),
        ("nodes: [{numaPolicy: SINGLE_NUMA_NODE}]", pb.NUMA_POLICY_SINGLE_NUMA_NODE),
    ],
)
def test_enum_value_is_written_with_or_without_its_prefix(tmp_path: Path, row: str, value: int) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(row)
    assert str(value) in json.dumps(
        json_format.MessageToDict(read_snapshot(str(file)), use_integers_for_enums=True)
    )


@pytest.mark.parametrize("enum", pb.DESCRIPTOR.enum_types_by_name.values(), ids=lambda enum: enum.name)
def test_short_names_of_an_enum_are_distinct(enum: EnumDescriptor) -> None:
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    assert all(value.name.startswith(prefix) for value in enum.values)
    assert len({value.name.replace("_", "") for value in enum.values}) == len(enum.values)


def test_standard_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    out = TextIOWrapper(BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    write_snapshot(small_snapshot(), "-", Format.YAML)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(out.buffer.getvalue())))
    assert read_snapshot("-", Format.YAML) == small_snapshot()


def test_yaml_supports_anchors_and_merge_keys_and_preserves_text(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "now: 2025-03-03T10:35:00Z\n"
        "nodes:\n"
        "- {name: a, allocatable: &size {cpu_milli: 1, pods: 2}, labels: {on: yes, v: 010, n: 1}}\n"
        "- {name: 0b1, allocatable: {<<: *size, pods: 3}, unschedulable: true, taints: }\n"
    )
    snapshot = read_snapshot(str(file))
    first, second = snapshot.nodes
    assert snapshot.now.ToJsonString() == "2025-03-03T10:35:00Z"
    assert dict(first.labels) == {"on": "yes", "v": "010", "n": "1"}
    assert (second.name, second.allocatable.cpu_milli, second.allocatable.pods) == ("0b1", 1, 3)
    assert second.unschedulable


NO_DURATION = "is not a duration: write it like 30s, 1h30m or 2d"
UNKNOWN = "unknown field of Node; did you mean"


@pytest.mark.parametrize(
    ("ending", "content", "says"),
    [
        (".json", '{"nodes": [{"name": "a"},\n {"name": "b",}]}', "line 2, column 15: "),
        (".json", '{"nodes": [], "nodes": []}', "the key 'nodes' occurs twice in one object"),
        (".json", '{"nodes": [{"name": "a"}, {"nam": "b"}]}', f"nodes[1].nam: {UNKNOWN} name?"),
        (".json", "[" * 100_000, "nested too deeply"),
        (".json", "[]", "must be a mapping from fields to values"),
        (".json", '{"nodes": {}}', "nodes: must be a list"),
        (".json", '{"nodes": [3]}', "nodes[0]: must be a mapping from fields to values"),
        (".json", '{"nodes": [{"name": 3}]}', "nodes[0].name: expected string"),
        (".json", '{"nodes": [{"labels": {"a": 1}}]}', "nodes[0].labels: expected string"),
        (".json", '{"now": "today"}', "now: Failed to parse timestamp"),
        (".json", '{"queues": [{"cpu_milli": {"quota": 1.5}}]}', "queues[0].cpu_milli.quota: Couldn't parse"),
        (".yaml", "queues: [{preempt_min_runtime: 600}]", f"preempt_min_runtime: '600' {NO_DURATION}"),
        (".json", '{"queues": [{"preempt_min_runtime": 600}]}', f"preempt_min_runtime: '600' {NO_DURATION}"),
        (".yaml", "queues: [{preemptMinRuntime: 5 m}]", f"queues[0].preemptMinRuntime: '5 m' {NO_DURATION}"),
        (".yaml", "queues: [{preempt_min_runtime: 1_000s}]", f"preempt_min_runtime: '1_000s' {NO_DURATION}"),
        (".yaml", "queues: [{preempt_min_runtime: ' 1s'}]", f"preempt_min_runtime: ' 1s' {NO_DURATION}"),
        (".yaml", "queues: [{preempt_min_runtime: 5200w101d}]", "'5200w101d' is longer than 100 years"),
        (".yaml", "queues: [{preempt_min_runtime: 9999w}]", "'9999w' is longer than 100 years"),
        (".yaml", "pods: [{status: RUNING}]", "'RUNING' is not a PodStatus; did you mean RUNNING?"),
        (".yaml", "pods: [{phase: RUNNING}]", "pods[0].phase: unknown field of Pod; known: "),
        (".yaml", "pods: [{status: x}]", "pods[0].status: 'x' is not a PodStatus; known: PENDING, GATED, "),
        (".yaml", "podColumns: {status: [RUNNING, x]}", "podColumns.status: 'x' is not a PodStatus; known: "),
        (".json", '{"queues": [{"preempt_min_runtime": {"seconds": 1}}]}', "preempt_min_runtime: "),
        (".json", '{"shapes": [{"gpu": {"portion_milli": 1, "memory_mib": 1}}]}', "Failed to parse shapes"),
        (".yaml", "nodes:\n- name: a\n  name: b", "line 3, column 3: the key 'name' occurs twice"),
        (".yaml", "nodes: [\n", "line 2, column 1: "),
        (".yaml", "? [a]\n: b", "line 1, column 3: a key must be text"),
        (".yaml", "[" * 300 + "]" * 300, "line 1, column 201: nested too deeply"),
        (".yaml", "[" * 100_000, "nest"),  # newer parsers have a limit of their own
        (".yaml", "a: !!python/name:os.system", "line 1, column 4: could not determine a constructor"),
        (".yaml", "nodes: [{lables: {}}]", f"nodes[0].lables: {UNKNOWN} labels?"),
        (".yaml", "pods: [{phase: Running}]", "pods[0].phase: unknown field of Pod; known: uid, name, "),
        (".yaml", "\x00", "unacceptable character"),
        (".txtpb", 'nodes { name: "a" }\nnodes { nam: "b" }', "line 2, column 9: Message type"),
        (".txtpb", "nodes { name: 3 }", "line 1, column 15: "),
    ],
)  # fmt: skip
def test_syntax_error_is_reported(tmp_path: Path, ending: str, content: str, says: str) -> None:
    assert says in read_error(tmp_path / f"cluster{ending}", content)


def test_only_what_is_wrong_is_reported(tmp_path: Path) -> None:
    text = "queues: [{preempt_min_runtime: 10m, reclaim_min_runtime: 1_0s}]\npods: [{status: Running}]"
    assert read_error(tmp_path / "c.yaml", text) == f"queues[0].reclaim_min_runtime: '1_0s' {NO_DURATION}"


@pytest.mark.parametrize("ending", [".json", ".yaml", ".txtpb"])
def test_text_that_is_not_utf8_is_rejected(tmp_path: Path, ending: str) -> None:
    assert read_error(tmp_path / f"c{ending}", b"ab\xff") == "not a UTF-8 text: byte 2 is not valid UTF-8"


def test_binary_content_of_another_kind_is_rejected(tmp_path: Path) -> None:
    assert read_error(tmp_path / "c.binpb", b"hello there") == "is not a binary tenure.v1.ClusterSnapshot"


def test_every_error_is_listed_up_to_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    assert read_error(file, "a: 1\nb: 2\nnodes: [{c: 1}]").count("\n") == 2
    assert read_error(file, "".join(f"a{i}: 1\n" for i in range(100))).count("\n") == MAX_ERRORS - 1


@pytest.mark.parametrize("file", ["-", "snapshot", "snapshot.xml", "json"])
def test_file_name_without_known_format_is_an_error(file: str) -> None:
    with pytest.raises(SnapshotFileError, match="cannot infer the format from the file name"):
        format_of(file)


def test_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(SnapshotFileError, match=r"none\.json: cannot be read: No such file or directory"):
        read_snapshot(str(tmp_path / "none.json"))
    with pytest.raises(SnapshotFileError, match="cannot be written: Is a directory"):
        write_snapshot(ClusterSnapshot(), str(tmp_path), Format.JSON)
