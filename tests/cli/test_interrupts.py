"""Ctrl-C and SIGTERM end a command cleanly, while jobs are played, and while commands are loaded."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.small_snapshot import child_environment

LOAD = "{days: 20, jobs: [{queue: a, perHour: 60, runtime: 4h, spread: 3, gpus: {1: 1, 4: 1}}]}"
MOST_SECONDS = 60


def start(tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    """`tenure play` of a load that takes minutes, which hears interrupts as from a terminal."""
    load = tmp_path / "load.yaml"
    load.write_text(LOAD)
    command = [sys.executable, "-m", "tenure.cli", "play", str(load), "--nodes", "4x8", *options]
    return subprocess.Popen(
        command,
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 one thread
    )


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_run_that_is_stopped_says_how_to_go_on_and_keeps_what_was_decided(tmp_path, number, code, word):
    runs = tmp_path / "runs"
    with start(tmp_path, "--checkpoint", str(runs)) as play:
        until = time.monotonic() + MOST_SECONDS
        while not list(runs.glob("*.run")):  # it has begun
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(1)
        play.send_signal(number)
        output, errors = play.communicate(timeout=MOST_SECONDS)
    assert (play.returncode, output) == (code, "")
    assert errors.splitlines()[-1] == f"tenure: {word}; call it again to go on from {runs}"
    assert "Traceback" not in errors
    (kept,) = runs.glob("*.run")
    assert kept.stat().st_size > 500


INTERRUPTED_WHILE_IT_LOADS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "tenure.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from tenure.cli.start import main
main()
"""


def test_a_command_that_is_interrupted_while_it_loads_leaves_no_traceback() -> None:
    command = [sys.executable, "-c", INTERRUPTED_WHILE_IT_LOADS, "--help"]
    run = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (-signal.SIGINT, "", "")
