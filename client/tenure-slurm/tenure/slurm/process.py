"""The process of `tenure slurm`: an adapter with probes and telemetry."""

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tenure.integration.adapter_loop import AdapterLoop
from tenure.integration.adapter_process import announce, connect, export_telemetry
from tenure.integration.health import Health
from tenure.integration.timing import Clock
from tenure.process.configuration import ConfigProblem, ConfigurationError
from tenure.slurm.adapter import HostClock, SlurmConnection
from tenure.slurm.observe.cluster import Scope
from tenure.slurm.programs import Slurm
from tenure.slurm.safety import unsafe_settings
from tenure.slurm.settings import SlurmConfiguration, SlurmSettings
from tenure.slurm.state_file import HostLock


def run_adapter(configuration: SlurmConfiguration, reread: Callable[[], None]) -> None:
    """Run an adapter until SIGTERM or SIGINT. SIGHUP calls `reread`.

    Raises ConfigurationError, ClusterError, InvalidCredentials, TelemetryError and JournalUnreadable.
    """
    settings = configuration.slurm
    queues = settings.queues()
    _refuse_unsafe(Slurm(), settings.scope())
    signal.signal(signal.SIGHUP, lambda *_: reread())
    with ExitStack() as ends:
        ends.enter_context(export_telemetry(configuration.telemetry, "tenure-slurm"))
        client = ends.enter_context(connect(settings))
        connection = SlurmConnection(settings.scope(), queues, settings.state_file, settings.poll_interval)
        ends.callback(connection.close)
        lock = _lock(settings.state_file)
        ends.callback(lock.close)
        loop = AdapterLoop(connection, client, lock, Clock(HostClock()), f"process {os.getpid()}")
        with announce(settings, "slurm", loop.stop, lambda: Health(loop.stuck, loop.problem)):
            loop.run()


def gate_script(settings: SlurmSettings, default: bool, uid: int) -> str:
    """The job_submit.lua that holds jobs of Tenure's partitions at birth.

    `default` says whether jobs without a partition go to one of them, `uid` is the user who runs the adapter.
    """
    text = Path(__file__).with_name("job_submit.lua").read_text()
    partitions = ", ".join(f'["{name}"] = true' for name in settings.partitions)
    values = {"@PARTITIONS@": partitions, "@UID@": str(uid), "@DEFAULT@": "true" if default else "false"}
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def _refuse_unsafe(slurm: Slurm, scope: Scope) -> None:
    read = slurm.read()
    administrators = read.associations.administrators
    problems = unsafe_settings(slurm.configuration(), slurm.partitions(), read.nodes, scope, administrators)
    if problems:
        raise ConfigurationError("slurm.conf", [ConfigProblem("", problem) for problem in problems])


def _lock(state_file: Path) -> HostLock:
    path = state_file.with_name(f"{state_file.name}.lock")
    try:
        return HostLock(path)
    except OSError as error:
        text = f"{path} cannot be written: {error.strerror}"
        raise ConfigurationError("slurm", [ConfigProblem("slurm.stateFile", text)]) from None
