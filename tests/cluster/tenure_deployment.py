"""Tenure on a cluster: the server and the adapter of this checkout, with the rights of `docker/manifests`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tenure.kubernetes.api.transport import Transport

from tests.child_processes import Program, free_port
from tests.kubernetes.environment.binaries import ROOT
from tests.kubernetes.environment.control_plane import ControlPlane, account_token
from tests.kubernetes.environment.manifests import create, read_manifests
from tests.small_snapshot import child_environment

NAMESPACE: Final = "tenure-system"
ACCOUNT: Final = "tenure"
_MANIFESTS: Final = (ROOT / "docker/manifests/namespace.yaml", ROOT / "docker/manifests/tenure.yaml")
_IN_CONTAINERS: Final = {"Deployment", "PodDisruptionBudget", "NetworkPolicy"}
"""Objects of the pods of Tenure. Here, its processes run beside the cluster."""
_STOP_SECONDS: Final = 30.0


class TenureDeployment(NamedTuple):
    """A running server and adapter."""

    address: str
    """Of the server."""
    cluster_id: str
    server: Program
    adapter: Program

    @property
    def user(self) -> str:
        """User name of the adapter on the API server."""
        return f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"


@contextmanager
def run_tenure(
    plane: ControlPlane, admin: Transport, folder: Path, chart: Sequence[dict[str, Any]] = ()
) -> Iterator[TenureDeployment]:
    """Create the shipped objects, and run a server and an adapter until the end of the context.

    `chart` are the objects of other values than those of the shipped manifests.
    """
    objects = [item for file in _MANIFESTS for item in read_manifests(file)]
    if chart:
        objects = [*(item for item in objects if item["kind"] == "Namespace"), *chart]
    for item in objects:
        if item["kind"] not in _IN_CONTAINERS:
            create(admin, item)
    (texts,) = (item["data"] for item in objects if item["kind"] == "ConfigMap")
    config = folder / "adapter.yaml"
    config.write_text(texts["adapter.yaml"])
    access = plane.kubeconfig(account_token(admin, NAMESPACE, ACCOUNT))
    address, health = (f"127.0.0.1:{free_port()}" for _ in range(2))
    with ExitStack() as programs:
        records = f"--records={folder / 'records.sqlite'}"
        server = programs.enter_context(_run(folder / "server.log", "serve", "--listen", address, records))
        options = ("--config", str(config), "--kubeconfig", str(access))
        options = (*options, "--server", address, "--health-listen", health)
        adapter = programs.enter_context(_run(folder / "adapter.log", "adapter", *options))
        yield TenureDeployment(address, "kubernetes", server, adapter)


@contextmanager
def _run(log: Path, *arguments: str) -> Iterator[Program]:
    """Run a command of Tenure. At the end it has time to stop in order, and is then killed."""
    program = Program(log, sys.executable, "-m", "tenure.cli", *arguments, env=child_environment())
    try:
        yield program
        program.terminate(_STOP_SECONDS)
    finally:
        program.kill()
