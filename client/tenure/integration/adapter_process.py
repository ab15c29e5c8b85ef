"""The process of an adapter: telemetry, a client of the server, signals and probes."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tenure.client.client import Client
from tenure.integration.adapter_settings import ServerSettings
from tenure.integration.health import Health, HealthServer
from tenure.process.configuration import ConfigProblem, ConfigurationError
from tenure.process.telemetry import Telemetry
from tenure.process.values import TelemetrySection

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def connect(settings: ServerSettings) -> Client:
    """A client of the server."""
    return Client(
        settings.server,
        tls_ca=settings.tls_ca,
        tls_cert=settings.tls_cert,
        tls_key=settings.tls_key,
        token_file=settings.token_file,
        allow_plaintext=settings.allow_plaintext,
    )


@contextmanager
def export_telemetry(section: TelemetrySection, service: str) -> Iterator[None]:
    """Export telemetry under the name of a service. Raises TelemetryError."""
    telemetry = Telemetry(section, service)
    telemetry.start()
    try:
        yield
    finally:
        telemetry.end()


@contextmanager
def announce(
    settings: ServerSettings, section: str, stop: Callable[[], None], health: Callable[[], Health]
) -> Iterator[None]:
    """Print that the adapter runs, serve its probes, and stop it on SIGTERM or SIGINT.

    Raises ConfigurationError, which names the `section` of the settings.
    """
    for number in _SIGNALS:
        signal.signal(number, lambda *_: stop())
    with _probes(settings.health_listen, section, health):
        print(f"tenure: adapter of cluster {settings.cluster_id}, server {settings.server}", flush=True)
        yield


@contextmanager
def _probes(address: str | None, section: str, health: Callable[[], Health]) -> Iterator[None]:
    if address is None:
        yield
        return
    try:
        probes = HealthServer(address, health)
    except OSError as error:
        message = f"cannot listen: {error.strerror}"
        raise ConfigurationError(section, [ConfigProblem(f"{section}.healthListen", message)]) from None
    try:
        yield
    finally:
        probes.close()
