"""The gate, in the Lua of Slurm, holds and releases a job exactly when its comment says so to the adapter."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tenure.slurm.observe.options import read_options, set_options
from tenure.v1 import snapshot_pb2 as pb

from tests.slurm.lua import INFINITE, Gate, LuaFailed, run_gate
from tests.slurm.slurm_adapter import gate as gate_script

pytestmark = [pytest.mark.slurm, pytest.mark.usefixtures("slurm_programs")]
OWNER, ADAPTER = 5, 0
_PIECES: Final = (
    *("tenure:", "Tenure:", "hold=", "HOLD=", "hold=true", "hold=false", "true", "x=", "threshold=3"),
    *(" ", " ", ",", ", ", ";", "=", ":", "\n", "\t", "%", "-", "\u00e9"),
)
HELD: Final = (
    "tenure: hold=true",
    "Tenure: hold=True",
    "TENURE:HOLD=TRUE",
    "tenure: hold=yes",
    "my job tenure: hold=true",
    "my job\ttenure:hold=true;priority=3",
    "tenure: hold=false, hold=true",
    "tenure: threshold=3 hold=true",
    "tenure: hold=true, some text",
    "tenure:\n hold=true",
    "mytenure: hold=false tenure: hold=true",
)
FREE: Final = (
    "",
    "hold=true",
    "on hold=true since tenure: x",
    "tenure:",
    "tenure: hold=false",
    "tenure: hold=FALSE, expected-runtime=2h",
    "tenure: hold=true, hold=false",
    "tenure: threshold=true",
    "tenure: expected-runtime=2h",
    "tenure: some text, hold=true",
    "tenure: on-evict=delete,, hold=true",
    "tenure:\u00a0hold=true",
    "mytenure: hold=true",
    "tenure: expected-runtime=2h; on-evict=delete my tenure: hold=true",
    "caf\udce9 (100%) [a-z]+ tenure: expected-runtime=2h",
)


@pytest.fixture
def gate(folder: Path) -> Iterator[Gate]:
    with run_gate(gate_script(folder)) as running:
        yield running


def other_options(comment: str) -> dict[str, str]:
    found, _ = read_options(comment)
    return {name: value for name, value in found.items() if name != "hold"}


def is_held(comment: str) -> bool:
    """Whether the adapter holds a job with this comment."""
    row, (options, _) = pb.PodGroup(), read_options(comment)
    set_options(row, options)
    return row.held_by == pb.HOLD_REASON_USER


@pytest.mark.parametrize(("comments", "held"), [(HELD, True), (FREE, False)], ids=["held", "free"])
def test_adapter_reads(comments: tuple[str, ...], held: bool) -> None:
    assert [one for one in comments if is_held(one) != held] == []


@pytest.mark.parametrize("comment", [*HELD, *FREE])
@pytest.mark.parametrize("user", [OWNER, ADAPTER], ids=["owner", "administrator"])
def test_hold_is_read_as_a_hold(gate: Gate, comment: str, user: int) -> None:
    job = {"partition": "gpu", "comment": comment}
    changed = gate.modify({"priority": 0}, job, user)["comment"]
    assert is_held(changed)
    assert other_options(changed) == other_options(comment)
    submitted = gate.submit({"priority": 0, "partition": "gpu", "comment": comment})["comment"]
    assert is_held(submitted)


@pytest.mark.parametrize("comment", HELD)
@pytest.mark.parametrize("user", [OWNER, ADAPTER], ids=["owner", "administrator"])
def test_whatever_is_read_as_a_hold_can_be_released(gate: Gate, comment: str, user: int) -> None:
    changed = gate.modify({"priority": INFINITE}, {"partition": "gpu", "comment": comment}, user)["comment"]
    assert not is_held(changed)
    assert changed, "Slurm takes an empty text for no change"
    assert other_options(changed) == other_options(comment)


@pytest.mark.parametrize("comment", FREE)
def test_owner_cannot_release_a_job_that_is_not_held(gate: Gate, comment: str) -> None:
    with pytest.raises(LuaFailed, match="set by Tenure"):
        gate.modify({"priority": INFINITE}, {"partition": "gpu", "comment": comment}, OWNER)


@pytest.mark.parametrize("comment", FREE)
def test_release_after_a_hold_restores_the_comment(gate: Gate, comment: str) -> None:
    held = gate.modify({"priority": 0}, {"partition": "gpu", "comment": comment})["comment"]
    released = gate.modify({"priority": INFINITE}, {"partition": "gpu", "comment": held})["comment"]
    assert other_options(released) == other_options(comment)
    if "hold" not in comment.lower():
        assert released.strip() == comment.removesuffix("tenure:")


def test_random_comments_are_read_alike(gate: Gate) -> None:
    draw = random.Random(56)
    for _ in range(3_000):
        comment = "".join(draw.choices(_PIECES, k=draw.randint(1, 9)))
        job = {"partition": "gpu", "comment": comment}
        held = gate.modify({"priority": 0}, job)["comment"]
        assert is_held(held), comment
        assert (held == comment) == is_held(comment), comment
        assert other_options(held) == other_options(comment), comment
        released = gate.modify({"priority": INFINITE}, {**job, "comment": held})["comment"]
        assert not is_held(released), comment
        assert other_options(released) == other_options(comment), comment


@pytest.mark.parametrize("comment", HELD)
def test_start_by_the_adapter_ends_no_hold(gate: Gate, comment: str) -> None:
    """The owner held the job after the adapter had looked: only `scontrol release` ends that."""
    start = {"exc_nodes": "", "priority": 1}
    with pytest.raises(LuaFailed, match="its owner holds it"):
        gate.modify(start, {"partition": "gpu", "comment": comment}, ADAPTER)


@pytest.mark.parametrize("comment", FREE)
def test_start_by_the_adapter_is_a_release(gate: Gate, comment: str) -> None:
    start = {"exc_nodes": "", "priority": 1}
    changed = gate.modify(start, {"partition": "gpu", "comment": comment}, ADAPTER)
    assert changed == {"exc_nodes": "", "priority": str(float(INFINITE)).removesuffix(".0")}


def test_hold_by_the_adapter_is_none_of_the_owner(gate: Gate) -> None:
    changed = gate.modify({"exc_nodes": "", "priority": 0}, {"partition": "gpu", "comment": ""}, ADAPTER)
    assert changed == {"exc_nodes": "", "priority": "0"}


@pytest.mark.parametrize(
    "text", ["cpu=2", "cpu:2", "cpu=2,gres/gpu=1", "gpu", "gres:gpu:a100:2", "gres:none"]
)
def test_gpus_and_cpus_of_a_task_are_accepted(gate: Gate, text: str) -> None:
    assert gate.submit({"partition": "gpu", "tres_per_task": text})["admin_comment"] == "tenure: new"


@pytest.mark.parametrize("text", ["gres/cpu=2", "gres:nic:1", "cpu", "cpux=1", "gpus:2", "cpu=2,gres:mps:10"])
def test_other_generic_resources_are_refused(gate: Gate, text: str) -> None:
    with pytest.raises(LuaFailed, match="request gpu only"):
        gate.submit({"partition": "gpu", "tres_per_task": text})
