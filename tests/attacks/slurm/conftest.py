"""Attacks on a real Slurm cluster use its fixtures."""

from tests.slurm.conftest import adapter, cluster, folder, slurm_programs  # noqa: F401
