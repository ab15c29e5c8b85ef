"""Find the programs of a cluster: in KUBEBUILDER_ASSETS, or those of the tools `kubeapi` and `kwok`."""

import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import pytest

from tests.checks import CannotRun

ROOT: Final = Path(__file__).parents[3]
"""The root of the checkout."""
BUILT: Final = ROOT / ".cache/kubeapi/bin"
_KWOK: Final = ROOT / ".cache/kwok/bin/kwok"
_TOOLS: Final = (ROOT / ".cache/kubectl/bin/kubectl", ROOT / ".cache/helm/bin/helm")
_KREW: Final = ROOT / ".cache/krew/bin/krew"
NO_TOOLS: Final = "kubectl or helm is missing: `python -m tests build kubectl helm`"
NO_GO: Final = "Go is missing"
NO_KREW: Final = "krew is missing: `python -m tests build krew`"
NO_CONTROLLERS: Final = "kube-controller-manager is missing: `python -m tests build kubeapi`"
NO_CLUSTER: Final = "programs of a whole cluster are missing: `python -m tests build kubeapi kwok`"
HOW: Final = "kube-apiserver and etcd are missing: `python -m tests build kubeapi`, or set KUBEBUILDER_ASSETS"


class Binaries(NamedTuple):
    """Paths of the two programs."""

    etcd: Path
    api_server: Path


class ClusterBinaries(NamedTuple):
    """Paths of the programs of a whole cluster."""

    control_plane: Binaries
    controller_manager: Path
    scheduler: Path
    kwok: Path


def _folder() -> Path:
    return Path(os.environ.get("KUBEBUILDER_ASSETS") or BUILT)


def find() -> Binaries | None:
    """Return the programs, or None if one of them is missing."""
    found = Binaries(_folder() / "etcd", _folder() / "kube-apiserver")
    return found if all(map(_is_program, found)) else None


def find_cluster() -> ClusterBinaries | None:
    """Return the programs of a whole cluster, or None if one of them is missing.

    KUBEBUILDER_ASSETS of the project itself have etcd and kube-apiserver only; the others are those that
    `python -m tests build` made.
    """
    beside = _folder() if _is_program(_folder() / "kube-scheduler") else BUILT
    others = (beside / "kube-controller-manager", beside / "kube-scheduler", _KWOK)
    control_plane = find()
    if control_plane is None or not all(map(_is_program, others)):
        return None
    return ClusterBinaries(control_plane, *others)


def available() -> Binaries:
    """Return the programs for a check. Raises CannotRun if one is missing."""
    found = find()
    if found is None:
        raise CannotRun(HOW)
    return found


class Components(NamedTuple):
    """Paths of programs beside an API server."""

    controller_manager: Path
    scheduler: Path


def available_components() -> Components:
    """Return the programs beside an API server for a check. Raises CannotRun if one is missing."""
    found = Components(BUILT / "kube-controller-manager", BUILT / "kube-scheduler")
    if not all(map(_is_program, found)):
        raise CannotRun(NO_CLUSTER)
    return found


def required() -> Binaries:
    """Return the programs. Skips the test if one is missing; with REQUIRE_KUBE=1 that is a failure."""
    found = find()
    if found is None:
        _skip(HOW)
    return found


def required_cluster() -> ClusterBinaries:
    """Return the programs of a whole cluster, likewise."""
    found = find_cluster()
    if found is None:
        _skip(NO_CLUSTER)
    return found


def required_tools() -> None:
    """Check that kubectl and helm are built, likewise."""
    if not all(map(_is_program, _TOOLS)):
        _skip(NO_TOOLS)


def required_kubectl() -> Path:
    """Return kubectl, likewise."""
    if not _is_program(_TOOLS[0]):
        _skip(NO_TOOLS)
    return _TOOLS[0]


def required_helm() -> Path:
    """Return helm, likewise."""
    if not _is_program(_TOOLS[1]):
        _skip(NO_TOOLS)
    return _TOOLS[1]


def required_go() -> None:
    """Check that Go is installed, likewise."""
    if shutil.which("go") is None:
        _skip(NO_GO)


def required_krew() -> Path:
    """Return krew, likewise."""
    if not _is_program(_KREW):
        _skip(NO_KREW)
    return _KREW


def required_controller_manager() -> Path:
    """Return kube-controller-manager, likewise. KUBEBUILDER_ASSETS of the project itself lack it."""
    found = _folder() / "kube-controller-manager"
    if not _is_program(found):
        _skip(NO_CONTROLLERS)
    return found


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK)


def _skip(why: str) -> NoReturn:
    (pytest.fail if os.environ.get("REQUIRE_KUBE") == "1" else pytest.skip)(why)
