"""The real kube-controller-manager: it creates the pods of the objects that users write."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.child_processes import Program
from tests.kubernetes.environment.control_plane import ControlPlane

_CONTROLLERS: Final = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "cronjob-controller",
)


@contextmanager
def run_controller_manager(program: Path, plane: ControlPlane, folder: Path) -> Iterator[Program]:
    """Run the controllers of owners of pods on a control plane, and kill them at the end.

    They are ready when the first object is: tests wait for what they create.
    """
    running = Program(
        folder / "controller-manager.log",
        program,
        f"--kubeconfig={plane.kubeconfig()}",
        f"--controllers={','.join(_CONTROLLERS)}",
        "--leader-elect=false",
        "--secure-port=0",
    )
    try:
        yield running
    finally:
        running.kill()
