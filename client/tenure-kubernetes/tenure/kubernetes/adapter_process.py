"""The process of `tenure adapter`: an adapter with probes and telemetry."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from lightkube.core.exceptions import ConfigError
from tenure.client.client import Client
from tenure.integration.health import HealthServer
from tenure.kubernetes.adapter import Adapter, write_seconds
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.dry_run import decision_rows, dry_run
from tenure.kubernetes.settings import AdapterConfiguration, AdapterSettings
from tenure.process.configuration import ConfigProblem, ConfigurationError
from tenure.process.telemetry import Telemetry
from tenure.process.values import TelemetrySection
from tenure.render import print_report
from tenure.render.terminal import TerminalConsole

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def run_adapter(configuration: AdapterConfiguration, reread: Callable[[], None]) -> None:
    """Run an adapter until SIGTERM or SIGINT. SIGHUP calls `reread`.

    Raises ConfigurationError, InvalidCredentials, TelemetryError and JournalUnreadable.
    """
    settings = configuration.adapter
    signal.signal(signal.SIGHUP, lambda *_: reread())
    writing_seconds = write_seconds(settings.lease_duration)
    with (
        _telemetry(configuration.telemetry),
        _transport(settings) as reading,
        _transport(settings, writing_seconds) as writing,
        _client(settings) as client,
    ):
        adapter = Adapter(settings, reading, writing, client)
        for number in _SIGNALS:
            signal.signal(number, lambda *_: adapter.stop())
        with _probes(settings, adapter):
            print(f"tenure: adapter of cluster {settings.cluster_id}, server {settings.server}", flush=True)
            adapter.run()


def print_dry_run(settings: AdapterSettings, *, as_json: bool) -> None:
    """Print a dry run. Raises the errors of `run_adapter`, ApiError and TenureError."""
    with _transport(settings) as transport, _client(settings) as client:
        run = dry_run(settings, transport, client)
    for warned in run.warnings:
        print(f"{warned.subject}: {warned.text}", file=sys.stderr)
    if as_json:
        for step in decision_rows(run):
            print(json.dumps(step))
    else:
        print_report(TerminalConsole(), run.snapshot, run.response)


@contextmanager
def _telemetry(section: TelemetrySection) -> Iterator[None]:
    telemetry = Telemetry(section, "tenure-adapter")
    telemetry.start()
    try:
        yield
    finally:
        telemetry.end()


@contextmanager
def _transport(settings: AdapterSettings, timeout: float | None = None) -> Iterator[Transport]:
    try:
        seconds = {} if timeout is None else {"timeout": timeout}
        transport = Transport(settings.kubeconfig, settings.context, **seconds)
    except (ConfigError, OSError) as error:
        where = str(settings.kubeconfig or "kubeconfig")
        raise ConfigurationError(where, [ConfigProblem("", str(error) or type(error).__name__)]) from None
    try:
        yield transport
    finally:
        transport.close()


def _client(settings: AdapterSettings) -> Client:
    return Client(
        settings.server,
        tls_ca=settings.tls_ca,
        tls_cert=settings.tls_cert,
        tls_key=settings.tls_key,
        token_file=settings.token_file,
        allow_plaintext=settings.allow_plaintext,
    )


@contextmanager
def _probes(settings: AdapterSettings, adapter: Adapter) -> Iterator[None]:
    if settings.health_listen is None:
        yield
        return
    try:
        probes = HealthServer(settings.health_listen, adapter.health)
    except OSError as error:
        message = f"cannot listen: {error.strerror}"
        raise ConfigurationError("adapter", [ConfigProblem("adapter.healthListen", message)]) from None
    try:
        yield
    finally:
        probes.close()
