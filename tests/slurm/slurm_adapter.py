"""The adapter as a user runs it: `tenure slurm` and `tenure serve` as processes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.child_processes import Program
from tests.server.servers import run_server_process
from tests.slurm.slurm_cluster import SlurmCluster, SlurmFailed
from tests.small_snapshot import child_environment

PARTITIONS = ("gpu", "high", "low")
QUEUES = """\
queues:
- {name: research, gpu_milli: {quota: 32000, limit: -1, over_quota_weight: 1}, reclaim_min_runtime: 8s,
   preempt_min_runtime: 2s, cpu_milli: {quota: -1, limit: -1}, memory_bytes: {quota: -1, limit: -1}}
- {name: vision, gpu_milli: {quota: 32000, limit: -1, over_quota_weight: 1}, reclaim_min_runtime: 8s,
   preempt_min_runtime: 2s, cpu_milli: {quota: -1, limit: -1}, memory_bytes: {quota: -1, limit: -1}}
"""
"""Two accounts with half of the cluster each, and short minimum runtimes."""


def write_configuration(folder: Path, server: str, **settings: object) -> Path:
    """Write slurm.yaml and the queues, and return its path. A setting that is None is left out."""
    queues = folder / "queues.yaml"
    queues.write_text(QUEUES)
    section = {
        "server": server,
        "clusterId": "test",
        "partitions": list(PARTITIONS),
        "queuesFile": str(queues),
        "stateFile": str(folder / "state.db"),
        "pollInterval": "200ms",
        "priorities": {"high": 90, "low": 10},
        **settings,
    }
    path = folder / "slurm.yaml"
    given = {name: value for name, value in section.items() if value is not None}
    path.write_text(yaml.safe_dump({"slurm": given}))
    return path


class SlurmAdapter:
    """One adapter process after another, with the same state file.

    `commands` is a folder whose programs precede those of Slurm.
    """

    def __init__(self, cluster: SlurmCluster, configuration: Path, commands: Path | None = None) -> None:
        self._cluster, self._configuration, self._commands = cluster, configuration, commands
        self.log = configuration.with_name("adapter.log")
        self.process: Program | None = None

    def start(self) -> None:
        """Start a process."""
        command = (sys.executable, "-m", "tenure.cli", "slurm", "--config", self._configuration)
        environment = {**child_environment(), **self._cluster.environment}
        if self._commands is not None:
            environment["PATH"] = f"{self._commands}:{environment['PATH']}"
        self.process = Program(self.log, *command, env=environment)

    def kill(self) -> None:
        """Kill the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    @property
    def output(self) -> str:
        """What all processes wrote."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def gate(folder: Path) -> str:
    """The job_submit.lua that `tenure slurm --print-gate` prints."""
    from tenure.slurm.process import gate_script
    from tenure.slurm.settings import load_slurm_settings

    configuration = load_slurm_settings(write_configuration(folder, "127.0.0.1:1"), {})
    return gate_script(configuration.slurm, default=True, uid=0)


@contextmanager
def run_slurm_adapter(cluster: SlurmCluster, folder: Path, *server: str) -> Iterator[SlurmAdapter]:
    """A server, with options, and an adapter on a cluster, until the end of the context."""
    with run_server_process(*server) as (_, address):
        adapter = SlurmAdapter(cluster, write_configuration(folder, address))
        adapter.start()
        try:
            yield adapter
        except SlurmFailed as failure:
            raise SlurmFailed(f"{failure}\n--- adapter\n{adapter.output[-6000:]}") from None
        finally:
            adapter.kill()
