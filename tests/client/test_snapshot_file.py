"""Snapshot files: every format round-trips, and errors are reported."""

import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from tenure.client.snapshot_file import (
    ENDINGS,
    MAX_ERRORS,
    Format,
    SnapshotFileError,
    format_of,
    read_snapshot,
    write_snapshot,
)
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
        (".json", '{"queues": [{"preempt_min_runtime": "9m"}]}', "preempt_min_runtime: Duration must"),
        (".json", '{"queues": [{"cpu_milli": {"quota": 1.5}}]}', "queues[0].cpu_milli.quota: Couldn't parse"),
        (".json", '{"pods": [{"status": "RUNNING"}]}', "pods[0].status: Invalid enum value RUNNING"),
        (".json", '{"shapes": [{"gpu": {"portion_milli": 1, "memory_mib": 1}}]}', "Failed to parse shapes"),
        (".yaml", "nodes:\n- name: a\n  name: b", "line 3, column 3: the key 'name' occurs twice"),
        (".yaml", "nodes: [\n", "line 2, column 1: "),
        (".yaml", "? [a]\n: b", "line 1, column 3: a key must be text"),
        (".yaml", "[" * 100_000, "line 1, column 201: nested too deeply"),
        (".yaml", "a: !!python/name:os.system", "line 1, column 4: could not determine a constructor"),
        (".yaml", "nodes: [{lables: {}}]", f"nodes[0].lables: {UNKNOWN} labels?"),
        (".yaml", "\x00", "unacceptable character"),
        (".txtpb", 'nodes { name: "a" }\nnodes { nam: "b" }', "line 2, column 9: Message type"),
        (".txtpb", "nodes { name: 3 }", "line 1, column 15: "),
    ],
)  # fmt: skip
def test_syntax_error_is_reported(tmp_path: Path, ending: str, content: str, says: str) -> None:
    assert says in read_error(tmp_path / f"cluster{ending}", content)


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
