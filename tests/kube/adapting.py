"""`tenure adapter` as a process, on a control plane of the tests."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.kube.controlplane import ADAPTER_TOKEN
from tests.kube.processes import Program
from tests.server.given import environment

LEASE: str = "3s"
"""As short as it may be."""


class HasKubeconfig(Protocol):
    """An API server, real or not."""

    def kubeconfig(self, token: str = ...) -> Path:
        """A kubeconfig file for the holder of a token."""


def arguments(plane: HasKubeconfig, server: str, namespace: str) -> tuple[str, ...]:
    """What an adapter is told whose lease, ledger and cluster id are those of a namespace of its own."""
    return (
        *("--kubeconfig", str(plane.kubeconfig(ADAPTER_TOKEN)), "--server", server),
        *("--cluster-id", namespace, "--namespace", namespace, "--lease-duration", LEASE),
    )


@contextmanager
def adapting(log: Path, *arguments: str) -> Iterator[Program]:
    """An adapter that runs, killed afterwards. What it wrote is shown where the test fails."""
    command = (sys.executable, "-m", "tenure.server", "adapter", *arguments)
    program = Program(log, *command, env=environment())
    try:
        yield program
    finally:
        program.kill()
        print(program.output)
