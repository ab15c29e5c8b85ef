"""`tenure slurm`: schedule a Slurm cluster."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from tenure.process.options import AllowPlaintext, LogLevel, TlsCa, TlsCert, TlsKey, TokenFile

if TYPE_CHECKING:
    from tenure.slurm.settings import SlurmSettings

_INVALID_INPUT: Final = 2
_CLUSTER_FAILURE: Final = 3
Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="YAML file with the sections `slurm` and `telemetry`.")
]
Server = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Address of the server (127.0.0.1:50051).")
]
StateFileOption = Annotated[
    Path | None, typer.Option("--state-file", metavar="FILE", help="What survives the adapter.")
]


def slurm(
    config: Config = None,
    server: Server = None,
    state_file: StateFileOption = None,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokenFile = None,
    allow_plaintext: AllowPlaintext = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the current decisions, write nothing, and exit.")
    ] = False,
    what_if: Annotated[
        str | None,
        typer.Option(
            metavar="OPTIONS",
            help="Print what would become of a job with these options of sbatch, and exit.",
        ),
    ] = None,
    capture: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a snapshot, as for `tenure explain`, and exit."),
    ] = None,
    print_gate: Annotated[
        bool,
        typer.Option("--print-gate", help="Print the job_submit.lua that holds new jobs, and exit."),
    ] = False,
    log_level: Annotated[LogLevel | None, typer.Option(help="Log level on standard error (info).")] = None,
) -> None:
    """Schedule a Slurm cluster: observe it, request decisions from a server, start and requeue jobs.

    Run it on the host of slurmctld as SlurmUser. It refuses settings of Slurm under which Slurm itself would
    start or stop jobs. On SIGTERM or Ctrl-C it completes the current step and exits with 0. Nothing is lost
    when it is killed: in-flight groups are stored in the state file.

    For example: tenure slurm --config slurm.yaml --dry-run

    Exit status: 0 stopped by a signal; 2 invalid command line, configuration or settings of Slurm;
    3 the server or Slurm failed. After startup, the adapter retries until both are available.
    """
    from tenure.integration.ports import ClusterError, JournalUnreadable
    from tenure.process.log_format import LogLevelControl
    from tenure.slurm.process import run_adapter
    from tenure.slurm.questions import print_dry_run, print_forecast, write_capture
    from tenure.slurm.settings import load_slurm_settings

    overrides = {
        "server": server,
        "state_file": state_file and str(state_file),
        "tls_ca": tls_ca and str(tls_ca),
        "tls_cert": tls_cert and str(tls_cert),
        "tls_key": tls_key and str(tls_key),
        "token_file": token_file and str(token_file),
        "allow_plaintext": allow_plaintext or None,
    }
    configuration = load_slurm_settings(config, overrides)
    if print_gate:
        _print_gate(configuration.slurm)
        return
    levels = LogLevelControl(
        lambda: load_slurm_settings(config, overrides).telemetry.logs,
        None if log_level is None else log_level.value,
    )
    levels.begin(configuration.telemetry.logs)
    try:
        if what_if is not None:
            print_forecast(configuration.slurm, what_if)
        elif capture is not None:
            write_capture(configuration.slurm, capture)
        elif dry_run:
            print_dry_run(configuration.slurm)
        else:
            run_adapter(configuration, levels.reload)
    except JournalUnreadable as error:
        _end(str(error), _INVALID_INPUT)
    except ClusterError as error:
        _end(f"Slurm failed: {error}", _CLUSTER_FAILURE)


def _print_gate(settings: "SlurmSettings") -> None:
    from tenure.integration.ports import ClusterError
    from tenure.slurm.process import gate_script
    from tenure.slurm.programs import Slurm

    try:
        rows = Slurm(lambda: False).partitions()
    except ClusterError as error:
        _end(f"Slurm failed: {error}", _CLUSTER_FAILURE)
    default = {row.get("PartitionName") for row in rows if row.get("Default") == "YES"}
    typer.echo(
        gate_script(settings, default=not default.isdisjoint(settings.partitions), uid=os.getuid()), nl=False
    )


def _end(message: str, code: int) -> NoReturn:
    from tenure.wire.violations import printable_lines

    typer.echo(printable_lines(f"tenure: {message}"), err=True)
    raise typer.Exit(code) from None
