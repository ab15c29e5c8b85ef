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
"""As short as it may be."""


class ApiServerAccess(Protocol):
    """An API server, real or not."""

    def kubeconfig(self, token: str = ...) -> Path:
        """A kubeconfig file for the holder of a token."""


def adapter_arguments(plane: ApiServerAccess, server: str, namespace: str) -> tuple[str, ...]:
    """What an adapter is told whose lease, ledger and cluster id are those of a namespace of its own."""
    return (
        *("--kubeconfig", str(plane.kubeconfig(ADAPTER_TOKEN)), "--server", server),
        *("--cluster-id", namespace, "--namespace", namespace, "--lease-duration", LEASE),
    )


@contextmanager
def run_adapter(log: Path, *arguments: str) -> Iterator[Program]:
    """An adapter that runs, killed afterwards. What it wrote is shown where the test fails."""
    command = (sys.executable, "-m", "tenure.cli", "adapter", *arguments)
    program = Program(log, *command, env=child_environment())
    try:
        yield program
    finally:
        program.kill()
        print(program.output)
