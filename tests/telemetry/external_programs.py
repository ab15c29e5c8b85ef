"""External programs that tests use: the tools `collector` and `promtool`."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "docker" / "telemetry"
"""Configuration files and alerts that the project ships."""
_ONWARD = """
exporters: {otlp/test: {endpoint: "%s", tls: {insecure: true}, retry_on_failure: {enabled: false}}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {exporters: [otlp/test]}
    logs: {exporters: [otlp/test]}
"""
"""Overlay for the shipped configuration: also sends metrics and log records to the test."""


def find_program(name: str) -> str:
    """Return the path of a program that was built here or is installed. Skips the test if it is missing."""
    made = ROOT / ".cache" / name / name
    path = str(made) if made.exists() else shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}: python -m tests build {name}")
    return path


@contextmanager
def run_collector(folder: Path, onward: str) -> Iterator[str]:
    """Run the real collector with the shipped configuration, exporting to HOST:PORT. Yields its address."""
    overlay, address = folder / "onward.yaml", f"127.0.0.1:{free_port()}"
    overlay.write_text(_ONWARD % onward)
    command = [find_program("collector"), "--config", str(FILES / "collector.yaml"), "--config", str(overlay)]
    variables = {**os.environ, "COLLECTOR_LISTEN": address, "TRACES_ENDPOINT": onward}
    with (
        open(folder / "collector.log", "w") as log,
        subprocess.Popen(command, env=variables, stdout=log, stderr=log) as process,
    ):
        try:
            _wait_for(address)
            yield address
        finally:
            process.terminate()
            process.wait(20)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(address: str) -> None:
    host, _, port = address.rpartition(":")
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection((host, int(port)), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
