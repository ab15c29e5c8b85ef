"""The control loop of docs/integrate/python.md applies each decision once."""

import re
import sys

import pytest
from tenure.cli.live.demo import server_process

from tests.e2e.command import ROOT, SAMPLE, run_command

PAGE = (ROOT / "docs/integrate/python.md").read_text()
(LOOP,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def reconcile" in block)


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Action and pod of each decision that the loop applied to the sample, in order."""
    script = tmp_path_factory.mktemp("loop") / "loop.py"
    with server_process() as address:
        script.write_text(LOOP.replace("127.0.0.1:50051", address).replace("cluster.yaml", str(SAMPLE)))
        ran = run_command(sys.executable, str(script))
    assert (ran.returncode, ran.stderr) == (0, "")
    return re.findall(r"^(\w+): Pod (\S+) ", ran.stdout, re.MULTILINE)


def test_loop_evicts_and_then_fulfills_reservations(applied: list[tuple[str, str]]) -> None:
    assert {pod for action, pod in applied if action == "reclaim"} == {"sweep-3", "sweep-4"}
    assert {pod for action, pod in applied if action == "fulfill"} == {
        "distill-0",
        "distill-1",
        "month-end-0",
    }
    assert applied.index(("reclaim", "sweep-3")) < applied.index(("fulfill", "distill-0"))


def test_loop_applies_each_decision_once(applied: list[tuple[str, str]]) -> None:
    assert len(applied) == len(set(applied)) == 8
