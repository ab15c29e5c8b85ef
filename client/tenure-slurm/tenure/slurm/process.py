"""The process of `tenure slurm`: an adapter with probes and telemetry."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tenure.client.client import Client
from tenure.integration.adapter_loop import AdapterLoop
from tenure.integration.health import Health, HealthServer
from tenure.integration.timing import Clock
from tenure.process.configuration import ConfigProblem, ConfigurationError
from tenure.process.telemetry import Telemetry
from tenure.process.values import TelemetrySection
from tenure.slurm.adapter import HostClock, SlurmConnection
from tenure.slurm.observe.cluster import Scope
from tenure.slurm.programs import Slurm
from tenure.slurm.safety import unsafe_settings
from tenure.slurm.settings import SlurmConfiguration, SlurmSettings
from tenure.slurm.state_file import HostLock

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LOG = logging.getLogger(__name__)


def run_adapter(configuration: SlurmConfiguration, reread: Callable[[], None]) -> None:
    """Run an adapter until SIGTERM or SIGINT. SIGHUP calls `reread`.

    Raises ConfigurationError, ClusterError, InvalidCredentials, TelemetryError and JournalUnreadable.
    """
    settings = configuration.slurm
    queues = settings.queues()
    _refuse_unsafe(Slurm(), settings.scope())
    signal.signal(signal.SIGHUP, lambda *_: reread())
    with ExitStack() as ends:
        ends.enter_context(_telemetry(configuration.telemetry))
        client = ends.enter_context(connect(settings))
        connection = SlurmConnection(settings.scope(), queues, settings.state_file, settings.poll_interval)
        ends.callback(connection.close)
        lock = _lock(settings.state_file)
        ends.callback(lock.close)
        loop = AdapterLoop(connection, client, lock, Clock(HostClock()), f"process {os.getpid()}")
        for number in _SIGNALS:
            signal.signal(number, lambda *_: loop.stop())
        if settings.health_listen is not None:
            ends.callback(_probes(settings.health_listen, loop).close)
        print(f"tenure: adapter of cluster {settings.cluster_id}, server {settings.server}", flush=True)
        loop.run()


def connect(settings: SlurmSettings) -> Client:
    """A client of the server."""
    return Client(
        settings.server,
        tls_ca=settings.tls_ca,
        tls_cert=settings.tls_cert,
        tls_key=settings.tls_key,
        token_file=settings.token_file,
        allow_plaintext=settings.allow_plaintext,
    )


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


def _probes(address: str, loop: AdapterLoop) -> HealthServer:
    try:
        return HealthServer(address, lambda: Health(loop.stuck, loop.problem))
    except OSError as error:
        message = f"cannot listen: {error.strerror}"
        raise ConfigurationError("slurm", [ConfigProblem("slurm.healthListen", message)]) from None


@contextmanager
def _telemetry(section: TelemetrySection) -> Iterator[None]:
    telemetry = Telemetry(section, "tenure-slurm")
    telemetry.start()
    try:
        yield
    finally:
        telemetry.end()
