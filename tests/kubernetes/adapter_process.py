"""`tenure adapter` as a process, on a control plane of the tests."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.child_processes import Program
from tests.kubernetes.environment.control_plane import ADAPTER_TOKEN
from tests.small_snapshot import child_environment

LEASE: str = "3s"
"""The shortest permitted lease."""


class ApiServerAccess(Protocol):
    """A real or fake API server."""

    def kubeconfig(self, token: str = ...) -> Path:
        """Write a kubeconfig file with this token."""


def adapter_arguments(plane: ApiServerAccess, server: str, namespace: str) -> tuple[str, ...]:
    """Return arguments of an adapter whose lease, journal and cluster id belong to its namespace."""
    return (
        *("--kubeconfig", str(plane.kubeconfig(ADAPTER_TOKEN)), "--server", server),
        *("--cluster-id", namespace, "--namespace", namespace, "--lease-duration", LEASE),
    )


@contextmanager
def run_adapter(log: Path, *arguments: str) -> Iterator[Program]:
    """Run an adapter and kill it at the end. Its output is shown if the test fails."""
    command = (sys.executable, "-m", "tenure.cli", "adapter", *arguments)
    program = Program(log, *command, env=child_environment())
    try:
        yield program
    finally:
        program.kill()
        print(program.output)
