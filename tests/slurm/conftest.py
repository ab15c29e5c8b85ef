"""A real Slurm cluster for tests with the marker `slurm`; others need none."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.servers import run_server_process
from tests.slurm.slurm_adapter import SlurmAdapter, gate, run_slurm_adapter
from tests.slurm.slurm_cluster import NO_SLURM, SlurmCluster, find_slurm, run_slurm


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the users of the cluster may enter, unlike those of pytest."""
    made = Path(tempfile.mkdtemp(prefix="tenure-slurm-"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def slurm_programs() -> None:
    """Skips tests where Slurm cannot run; fails them if REQUIRE_SLURM is set."""
    if not find_slurm():
        if os.environ.get("REQUIRE_SLURM"):
            pytest.fail(NO_SLURM)
        pytest.skip(NO_SLURM)


@pytest.fixture
def cluster(folder: Path, slurm_programs: None) -> Iterator[SlurmCluster]:
    """A fresh cluster with Tenure's gate, and without an adapter."""
    settings = folder / "tenure"
    settings.mkdir()
    with run_slurm(folder / "slurm", gate(settings)) as running:
        yield running


@pytest.fixture
def adapter(cluster: SlurmCluster, folder: Path) -> Iterator[SlurmAdapter]:
    """The adapter of the cluster, with a server of its own."""
    with run_slurm_adapter(cluster, folder / "tenure") as running:
        yield running


@pytest.fixture
def server() -> Iterator[str]:
    """Address of a server."""
    with run_server_process() as (_, address):
        yield address
