"""The process of `tenure adapter`: an adapter with probes and telemetry."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lightkube.core.exceptions import ConfigError
from tenure.integration.adapter_process import announce, connect, export_telemetry
from tenure.kubernetes.adapter import Adapter, write_seconds
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.dry_run import decision_rows, dry_run
from tenure.kubernetes.settings import AdapterConfiguration, AdapterSettings
from tenure.process.configuration import ConfigProblem, ConfigurationError
from tenure.render import print_report
from tenure.render.terminal import TerminalConsole


def run_adapter(configuration: AdapterConfiguration, reread: Callable[[], None]) -> None:
    """Run an adapter until SIGTERM or SIGINT. SIGHUP calls `reread`.

    Raises ConfigurationError, InvalidCredentials, TelemetryError and JournalUnreadable.
    """
    settings = configuration.adapter
    signal.signal(signal.SIGHUP, lambda *_: reread())
    writing_seconds = write_seconds(settings.lease_duration)
    with (
        export_telemetry(configuration.telemetry, "tenure-adapter"),
        _transport(settings) as reading,
        _transport(settings, writing_seconds) as writing,
        connect(settings) as client,
    ):
        adapter = Adapter(settings, reading, writing, client)
        with announce(settings, "adapter", adapter.stop, adapter.health):
            adapter.run()


def print_dry_run(settings: AdapterSettings, *, as_json: bool) -> None:
    """Print a dry run. Raises the errors of `run_adapter`, ApiError and TenureError."""
    with _transport(settings) as transport, connect(settings) as client:
        run = dry_run(settings, transport, client)
    for warned in run.warnings:
        print(f"{warned.subject}: {warned.text}", file=sys.stderr)
    if as_json:
        for step in decision_rows(run):
            print(json.dumps(step))
    else:
        print_report(TerminalConsole(), run.snapshot, run.response)


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
