"""Rows by key: they are replaced, removed and restored by deltas."""

import pytest
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import StateError, full_state
from tenure.server.state.versions import next_state
from tenure.v1 import state_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire import deltas
from tenure.wire.columns import to_columns
from tenure.wire.deltas import KEY_FIELDS

from tests.small_snapshot import small_snapshot
from tests.state.state_calls import delta

STATE = full_state("e", small_snapshot(), DEFAULT_ROWS)


def apply_delta(what: pb.StateDelta) -> ClusterSnapshot:
    return next_state(STATE, what, 10**6, DEFAULT_ROWS).snapshot


def rejected_fields(what: pb.StateDelta) -> list[str]:
    with pytest.raises(StateError) as caught:
        apply_delta(what)
    assert caught.value.code == pb.STATE_ERROR_CODE_INVALID
    assert not caught.value.resync_required
    return [str(violation) for violation in caught.value.violations]


def with_pod(**fields: object) -> ClusterSnapshot:
    pod = {"uid": "new", "pod_group": "waits", "shape": "gpu", "status": "POD_STATUS_PENDING", **fields}
    snapshot = ClusterSnapshot()
    snapshot.pods.add(**pod)
    return snapshot


def test_every_list_of_a_snapshot_has_keys() -> None:
    lists = {field.name for field in ClusterSnapshot.DESCRIPTOR.fields if field.is_repeated}
    assert set(KEY_FIELDS) == lists
    assert set(deltas.KEYS) == lists


@pytest.mark.parametrize("name", KEY_FIELDS)
def test_every_list_has_removals(name: str) -> None:
    assert pb.StateKeys.DESCRIPTOR.fields_by_name[name].is_repeated


def test_upsert_replaces_the_row_with_its_key() -> None:
    changed = apply_delta(delta(upserts=with_pod(uid="waits-0", name="renamed")))
    assert [pod.uid for pod in changed.pods] == ["runs-0", "runs-1", "waits-1", "waits-0"]
    assert changed.pods[3].name == "renamed"


def test_header_is_that_of_the_delta_and_the_state() -> None:
    changed = apply_delta(delta(upserts=with_pod()))
    assert (changed.cluster_id, changed.node_pool, changed.version) == ("test", "", 8)
    assert changed.now.seconds == 1_700_000_001


def test_removed_and_upserted_row_is_present() -> None:
    changed = apply_delta(delta(upserts=with_pod(), removals=pb.StateKeys(pods=["new", "waits-0"])))
    assert [pod.uid for pod in changed.pods] == ["runs-0", "runs-1", "waits-1", "new"]


def test_pods_in_columns_and_as_messages_replace_each_other() -> None:
    columns = to_columns(with_pod(uid="waits-0", name="renamed"))
    assert columns.pod_columns.uid == ["waits-0"]
    state = next_state(STATE, delta(upserts=columns), 10**6, DEFAULT_ROWS)
    assert [pod.uid for pod in state.snapshot.pods] == ["runs-0", "runs-1", "waits-1"]
    assert state.snapshot.pod_columns.name == ["renamed"]
    back = delta(state.reference, upserts=with_pod(uid="waits-0"))
    again = next_state(state, back, 10**6, DEFAULT_ROWS).snapshot
    assert [pod.uid for pod in again.pods] == ["runs-0", "runs-1", "waits-1", "waits-0"]
    assert not again.pod_columns.uid
    assert not again.pod_columns.string_table


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"upserts": with_pod(shape="none")},
            "upserts.pods[0].shape: there is no shape with id 'none' (in 'new')",
        ),
        (
            {"upserts": to_columns(with_pod(shape="none"))},
            "upserts.pod_columns[0].shape: there is no shape with id 'none' (in 'new')",
        ),
        (
            {"removals": pb.StateKeys(shapes=["half"])},
            "pods['runs-1'].shape: there is no shape with id 'half'",
        ),
        (
            {"upserts": ClusterSnapshot(eviction_history=[{"victim": "a", "preemptor": "b"}])},
            "upserts.eviction_history[0].last_eviction_time: is required (in 'a' for 'b')",
        ),
        (
            {"upserts": ClusterSnapshot(nodes=[{"name": "x"}, {"name": "y"}, {"name": "x"}])},
            "upserts.nodes[2].name: 'x' is already used by upserts.nodes[0]",
        ),
        (
            {"upserts": ClusterSnapshot(pods=[{"uid": "x"}], pod_columns={"uid": ["x"]})},
            "upserts.pod_columns[0].uid: 'x' is already used by upserts.pods[0]",
        ),
        (
            {"upserts": ClusterSnapshot(pod_columns={"uid": ["x"], "name": ["a", "b"]})},
            "upserts.pod_columns.name: has 2 values, and uid has 1",
        ),
        ({"now": {"nanos": -1}}, "now: -1 nanoseconds are not a part of a second"),
    ],
)
def test_violation_names_the_row_by_its_position_in_the_delta_or_its_key(
    change: dict[str, object], says: str
) -> None:
    assert rejected_fields(delta(**change)) == [says]


def test_all_violations_are_listed() -> None:
    upserts = with_pod(shape="none", pod_group="nobody")
    upserts.queues.add(name="lost", parent="nowhere")
    assert [violation.partition(":")[0] for violation in rejected_fields(delta(upserts=upserts))] == [
        "upserts.queues[0].parent",
        "upserts.pods[0].pod_group",
        "upserts.pods[0].shape",
    ]
