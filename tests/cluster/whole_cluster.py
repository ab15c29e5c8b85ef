"""etcd, kube-apiserver, all controllers, kube-scheduler and kwok in one folder, with or without Tenure."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.transport import Transport

from tests.child_processes import Program
from tests.cluster.tenure_deployment import TenureDeployment, run_tenure
from tests.kubernetes.environment.binaries import ClusterBinaries
from tests.kubernetes.environment.components import run_controllers, run_kube_scheduler, run_kwok
from tests.kubernetes.environment.control_plane import (
    START_SECONDS,
    ControlPlane,
    StartFailed,
    run_control_plane,
)
from tests.kubernetes.environment.resource_definitions import define_kinds


class EmptyCluster(NamedTuple):
    """A running cluster without Tenure."""

    plane: ControlPlane
    admin: Transport
    """Transport with all rights."""
    programs: Mapping[str, Program]
    """All its processes by name, in the order of their start."""


class WholeCluster(NamedTuple):
    """A running cluster with Tenure; see EmptyCluster."""

    plane: ControlPlane
    admin: Transport
    programs: Mapping[str, Program]
    tenure: TenureDeployment


@contextmanager
def run_whole_cluster(
    binaries: ClusterBinaries,
    folder: Path,
    *api_flags: str,
    chart: Sequence[dict[str, Any]] = (),
    has_started: Callable[[str], None] = lambda _: None,
) -> Iterator[WholeCluster]:
    """Run a cluster with Tenure, as `run_empty_cluster` does; `chart` is as in `run_tenure`."""
    with (
        run_empty_cluster(binaries, folder, *api_flags, has_started=has_started) as (plane, admin, programs),
        run_tenure(plane, admin, folder, chart) as tenure,
    ):
        has_started("Tenure: server and adapter")
        of_tenure = {"tenure serve": tenure.server, "tenure adapter": tenure.adapter}
        yield WholeCluster(plane, admin, {**programs, **of_tenure}, tenure)


@contextmanager
def run_empty_cluster(
    binaries: ClusterBinaries,
    folder: Path,
    *api_flags: str,
    has_started: Callable[[str], None] = lambda _: None,
) -> Iterator[EmptyCluster]:
    """Run a cluster, and end all its processes at the end. `has_started` receives what is ready.

    Raises StartFailed.
    """
    with ExitStack() as stack:
        plane = stack.enter_context(
            run_control_plane(binaries.control_plane, folder, *api_flags, has_controllers=True)
        )
        admin = stack.enter_context(closing(Transport(plane.kubeconfig())))
        has_started("etcd and kube-apiserver")
        define_kinds(admin)
        run = {
            "kube-controller-manager": partial(run_controllers, binaries.controller_manager),
            "kube-scheduler": partial(run_kube_scheduler, binaries.scheduler),
            "kwok": partial(run_kwok, binaries.kwok),
        }
        beside = {name: stack.enter_context(start(plane, folder)) for name, start in run.items()}
        _wait_for_accounts(admin, beside["kube-controller-manager"])
        has_started(", ".join(beside))
        programs = {"etcd": plane.etcd, "kube-apiserver": plane.api_server, **beside}
        yield EmptyCluster(plane, admin, programs)


def _wait_for_accounts(admin: Transport, controllers: Program) -> None:
    """Wait until pods can be created: the controllers make the service account that each needs."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and not controllers.has_ended:
        try:
            json.loads(admin.get("/api/v1/namespaces/default/serviceaccounts/default"))
            return
        except ApiError:
            time.sleep(0.1)
    raise StartFailed(controllers.output)
