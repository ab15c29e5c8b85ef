"""Pods in columns are decoded like the same pods in messages. Violations in columns have a path."""

import pytest
from tenure.codec.decode import decode_snapshot
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.columns import from_columns, to_columns, to_pods
from tenure.wire.violations import SnapshotValidationError

from tests.properties.generators.draw import SeededDraw
from tests.small_snapshot import small_snapshot
from tests.state.column_forms import mix_columns
from tests.state.generated_snapshots import generate_snapshot

SNAPSHOTS = {"small": small_snapshot(), "made": generate_snapshot(SeededDraw(3), 4, 60)}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_columns_decode_to_the_same_cluster(name: str) -> None:
    snapshot = SNAPSHOTS[name]
    columns = to_columns(snapshot)
    assert columns.pod_columns.uid
    assert decode_snapshot(columns) == decode_snapshot(snapshot)


@pytest.mark.parametrize("seed", range(20))
def test_any_mixture_decodes_to_the_same_cluster(seed: int) -> None:
    draw = SeededDraw(seed)
    snapshot = generate_snapshot(draw, 3, 30)
    assert decode_snapshot(mix_columns(draw, snapshot)) == decode_snapshot(snapshot)


def test_pods_with_fields_without_column_stay_messages() -> None:
    columns = to_columns(small_snapshot())
    assert [pod.uid for pod in columns.pods] == ["runs-1"]
    assert columns.pod_columns.uid == ["runs-0", "waits-0", "waits-1"]


def test_columns_convert_back_to_the_same_pods() -> None:
    made = SNAPSHOTS["made"]
    pods = {pod.uid: pod for pod in to_pods(to_columns(made)).pods}
    assert pods == {pod.uid: pod for pod in made.pods}


def test_converting_to_columns_is_idempotent() -> None:
    once = to_columns(SNAPSHOTS["made"])
    assert to_columns(once) == once


def test_columns_of_default_values_are_omitted() -> None:
    columns = to_columns(pb.ClusterSnapshot(pods=[pb.Pod(uid="a"), pb.Pod(uid="b")])).pod_columns
    assert columns == pb.PodColumns(uid=["a", "b"])
    assert [pod.uid for pod in from_columns(columns)] == ["a", "b"]


def two_rows(**changes: object) -> pb.PodColumns:
    sound = {
        "string_table": ["waits", "gpu", "n1"],
        "uid": ["a", "b"],
        "pod_group": [0, 0],
        "shape": [1, 1],
        "status": [1, 1],
    }
    return pb.PodColumns(**{**sound, **changes})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"shape": [1]}, ["pod_columns.shape: has 1 values, and uid has 2"]),
        (
            {"uid": []},
            [f"pod_columns.{name}: has 2 values, and uid has 0" for name in ("status", "pod_group", "shape")],
        ),
        ({"shape": [1, 3]}, ["pod_columns[1].shape: index 3 is beyond the 3 texts"]),
        ({"uid": ["a", ""]}, ["pod_columns[1].uid: is required"]),
        ({"uid": ["a", "a"]}, ["pod_columns[1].uid: 'a' is already used by element 0"]),
        ({"uid": ["a", "runs-1"]}, ["pod_columns[1].uid: 'runs-1' is already used by pods[1]"]),
        ({"pod_group": []}, [f"pod_columns[{i}].pod_group: is required" for i in (0, 1)]),
        ({"shape": [1, 0]}, ["pod_columns[1].shape: there is no shape with id 'waits'"]),
        ({"status": []}, [f"pod_columns[{i}].status: is required" for i in (0, 1)]),
        ({"status": [1, 99]}, ["pod_columns[1].status: 99 is not a value of this version of the contract"]),
        ({"status": [1, 6]}, ["pod_columns[1].node: is required for a pod that occupies a node"]),
        (
            {"creation_time_delta_ns": [2**62, 2**62]},
            ["pod_columns[1].creation_time_delta_ns: leads to a time not between the years 1677 and 2262"],
        ),
        (
            {"string_table": ["waits", "half", "n1"], "node": [2, 2], "status": [6, 1]},
            ["pod_columns[0].gpu_groups: must name the 1 shared devices that the pod uses: send it in pods"],
        ),
    ],
)
def test_violations_in_columns_name_row_and_field(changes: dict[str, object], says: list[str]) -> None:
    snapshot = small_snapshot()
    snapshot.pod_columns.CopyFrom(two_rows(**changes))
    with pytest.raises(SnapshotValidationError) as caught:
        decode_snapshot(snapshot)
    assert [str(violation) for violation in caught.value.violations] == says


def test_pods_in_columns_on_a_missing_node_have_the_same_warnings_as_messages() -> None:
    snapshot = small_snapshot()
    snapshot.pods[0].node = "gone"
    assert decode_snapshot(to_columns(snapshot)).warnings == decode_snapshot(snapshot).warnings != ()
