"""The programs beside an API server: kube-controller-manager, kube-scheduler, and kwok.

They are ready when the first object is: whoever starts them waits for what they do.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.child_processes import Program
from tests.kubernetes.environment.control_plane import CONTROLLERS_TOKEN, SCHEDULER_TOKEN, ControlPlane

_OF_OWNERS: Final = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "cronjob-controller",
)
_NOT_PLAYED: Final = (
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-signing-controller",
    "cloud-node-lifecycle-controller",
    "node-ipam-controller",
    "persistentvolume-attach-detach-controller",
    "selinux-warning-controller",
    "ttl-controller",
)
"""Controllers of what the machines of a cluster have and a simulated node has not."""
_ALONE: Final = ("--leader-elect=false", "--secure-port=0")
_FAST: Final = ("--kube-api-qps=500", "--kube-api-burst=1000")
"""The default of 20 calls per second is for clusters in which nobody waits."""
STAGES: Final = Path(__file__).with_name("kwok.yaml")
"""What kwok does with nodes and pods, and the label and annotations that direct it."""


@contextmanager
def run_owner_controllers(program: Path, plane: ControlPlane, folder: Path) -> Iterator[Program]:
    """Run the controllers of owners of pods only, on a control plane without others."""
    with _run_some(program, plane, folder, *_OF_OWNERS) as running:
        yield running


@contextmanager
def run_disruption_controller(program: Path, plane: ControlPlane, folder: Path) -> Iterator[Program]:
    """Run the controller of disruption budgets only. It calls as often as in a fast cluster."""
    with _run_some(program, plane, folder, "disruption-controller", flags=_FAST) as running:
        yield running


@contextmanager
def _run_some(
    program: Path, plane: ControlPlane, folder: Path, *controllers: str, flags: Sequence[str] = ()
) -> Iterator[Program]:
    which = (f"--kubeconfig={plane.kubeconfig()}", f"--controllers={','.join(controllers)}")
    with _run(folder / "controller-manager.log", program, *_ALONE, *which, *flags) as running:
        yield running


@contextmanager
def run_controllers(program: Path, plane: ControlPlane, folder: Path) -> Iterator[Program]:
    """Run all controllers of a cluster. Each acts as its own service account, as in a cluster."""
    config = plane.kubeconfig(CONTROLLERS_TOKEN)
    flags = (
        *_own_access(config),
        "--controllers=" + ",".join(("*", *(f"-{name}" for name in _NOT_PLAYED))),
        "--use-service-account-credentials",
        f"--service-account-private-key-file={plane.accounts_key}",
        f"--root-ca-file={plane.certificate}",
        "--enable-hostpath-provisioner",
        "--pvclaimbinder-sync-period=1s",
        *_FAST,
    )
    with _run(folder / "controller-manager.log", program, *_ALONE, *flags) as running:
        yield running


@contextmanager
def run_kube_scheduler(program: Path, plane: ControlPlane, folder: Path) -> Iterator[Program]:
    """Run the scheduler of pods that name no other one."""
    config = plane.kubeconfig(SCHEDULER_TOKEN)
    with _run(folder / "scheduler.log", program, *_ALONE, *_own_access(config), *_FAST) as running:
        yield running


@contextmanager
def run_kwok(program: Path, plane: ControlPlane, folder: Path) -> Iterator[Program]:
    """Run kwok, which plays the kubelets of nodes with the label type=kwok."""
    flags = (
        f"--kubeconfig={plane.kubeconfig()}",
        f"--config={STAGES}",
        "--manage-nodes-with-label-selector=type=kwok",
        "--node-lease-duration-seconds=40",
    )
    with _run(folder / "kwok.log", program, *flags) as running:
        yield running


def _own_access(config: Path) -> tuple[str, ...]:
    return tuple(f"--{use}kubeconfig={config}" for use in ("", "authentication-", "authorization-"))


@contextmanager
def _run(log: Path, program: Path, *flags: str) -> Iterator[Program]:
    """Run a program, and kill it at the end."""
    running = Program(log, program, *flags)
    try:
        yield running
    finally:
        running.kill()
