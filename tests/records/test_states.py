"""States in the file: each once, shortly when it is much like another one, and the same when made again."""

from contextlib import closing
from pathlib import Path

import pytest
from tenure.server.records import RecordsFile
from tenure.server.records.states import Form
from tenure.server.records.writing import Writer
from tenure.server.state.lineage import MAX_DELTAS, new_lineage
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.records.kept import inline, pushed, referred, rows, run, written


def read(path: Path) -> list[ClusterSnapshot]:
    with RecordsFile(path) as kept:
        return [kept.snapshot(record) for record in kept.records()]


def forms(path: Path) -> list[Form]:
    return [Form(form) for (form,) in rows(path, "SELECT form FROM states ORDER BY rowid")]


def test_a_snapshot_that_comes_again_is_stored_once(tmp_path: Path) -> None:
    path, (snapshot,) = tmp_path / "r", run(1, 1)
    written(path, [inline(snapshot)] * 3)
    assert forms(path) == [Form.FULL]
    assert read(path) == [snapshot] * 3


def test_a_snapshot_much_like_the_one_before_is_stored_by_what_differs(tmp_path: Path) -> None:
    path, seen = tmp_path / "r", run(2, 4, nodes=50, pods=400)
    written(path, [inline(snapshot) for snapshot in seen])
    assert forms(path) == [Form.FULL, Form.CHANGE, Form.CHANGE, Form.CHANGE]
    assert read(path) == seen
    sizes = [size for (size,) in rows(path, "SELECT length(body) FROM states ORDER BY rowid")]
    assert max(sizes[1:]) * 10 < sizes[0]


@pytest.mark.parametrize("seed", range(5))
def test_a_run_of_deltas_is_made_again(seed: int, tmp_path: Path) -> None:
    path, states = tmp_path / "r", pushed(run(seed, 12, nodes=30, pods=300))
    written(path, [referred(state, with_snapshot=not i) for i, state in enumerate(states)])
    assert forms(path) == [Form.FULL] + [Form.DELTA] * 11
    assert read(path) == [state.snapshot for state in states]


def test_states_in_between_need_not_have_been_decided_on(tmp_path: Path) -> None:
    path, states = tmp_path / "r", pushed(run(3, 9, nodes=30, pods=300))
    written(path, [referred(states[0]), referred(states[4], with_snapshot=False), referred(states[8], False)])
    assert read(path) == [states[i].snapshot for i in (0, 4, 8)]


def test_records_may_be_read_in_any_order(tmp_path: Path) -> None:
    path, states = tmp_path / "r", pushed(run(4, 6, nodes=30, pods=300))
    written(path, [referred(state) for state in states])
    with RecordsFile(path) as kept:
        for number in (4, 2, 6, 1, 5):
            record = kept.record(number)
            assert record is not None
            assert kept.snapshot(record) == states[number - 1].snapshot


def test_a_long_run_begins_anew_with_a_full_state(tmp_path: Path) -> None:
    lineage = new_lineage()
    for _ in range(MAX_DELTAS):
        lineage = lineage.after(b"delta", 10**6)
    assert len(lineage.deltas) == MAX_DELTAS
    after = lineage.after(b"delta", 10**6)
    assert after.base != lineage.base
    assert after.deltas == ()


def test_deltas_as_large_as_the_state_begin_anew() -> None:
    lineage = new_lineage()
    assert lineage.after(b"x" * 24, 100).deltas == (b"x" * 24,)
    assert lineage.after(b"x" * 26, 100).deltas == ()


def test_a_state_whose_base_is_gone_is_asked_for_in_full(tmp_path: Path) -> None:
    states = pushed(run(5, 4, nodes=30, pods=300))
    with closing(Writer(tmp_path / "r")) as writer:
        assert writer.write([referred(states[0]), referred(states[1], False)]) == []
        writer.database.execute("DELETE FROM records")
        writer.database.execute("DELETE FROM states")
        bare = referred(states[2], with_snapshot=False)
        assert writer.write([bare]) == [bare]
        assert writer.write([referred(states[2]), referred(states[3], False)]) == []
    assert read(tmp_path / "r") == [states[2].snapshot, states[3].snapshot]
