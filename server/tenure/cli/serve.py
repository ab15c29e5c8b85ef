"""`tenure serve`: the server process."""

import logging
from pathlib import Path
from typing import Annotated, Final

import typer
from tenure.process.options import LogLevel

Listen = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Address to listen on; port 0 takes any free port.")
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Scheduler configuration. Default: the default profile."),
]
AllowPlaintext = Annotated[
    bool,
    typer.Option(
        "--allow-plaintext",
        help="Allow listening on a non-loopback address without TLS.",
    ),
]


TlsCert = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="PEM file with the server's certificate chain. Requires --tls-key; enables TLS."
    ),
]
TlsKey = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="PEM file with the private key of --tls-cert, without passphrase."),
]
TlsClientCa = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="PEM file with the client CA. Requires every client to present a certificate signed by it.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Token file with one token per line, optionally after a name. Every call except health checks "
        "requires a token.",
    ),
]


RecordsTo = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Records file for `tenure records` and `tenure replay`. Default: records.file of the "
        "configuration.",
    ),
]
NoRecords = Annotated[bool, typer.Option("--no-records", help="Do not record cycles.")]


_LOG: Final = logging.getLogger(__name__)

Level = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level",
        help="Level of log messages on standard error. warning: problems to fix; info: also requeue "
        "nominations; debug: every check of them. Default: telemetry.logs.level of the configuration, which "
        "the server reloads on SIGHUP, else warning.",
    ),
]


def serve(
    listen: Listen = "127.0.0.1:50051",
    config: Config = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_client_ca: TlsClientCa = None,
    token_file: TokenFile = None,
    allow_plaintext: AllowPlaintext = False,
    records: RecordsTo = None,
    no_records: NoRecords = False,
    log_level: Level = None,
) -> None:
    """Serve decisions over gRPC until SIGTERM or Ctrl-C.

    Prints one line when ready, which ends with the address. On SIGTERM the server becomes NOT_SERVING,
    completes calls in flight and exits with status 0. Certificates and tokens are reloaded when their files
    change.
    """
    if records and no_records:
        raise typer.BadParameter("cannot be used with --no-records", param_hint="--records")
    from tenure.server.memory import limit_arenas

    limit_arenas()
    from tenure.process.log_format import LogLevelControl
    from tenure.server.grpc_server import serve as run_server
    from tenure.server.installed import installed_registry
    from tenure.server.listen_address import check_listen_address
    from tenure.server.placement_cost import describe_placement_cost
    from tenure.server.settings import Security, load_settings

    settings = load_settings(config)
    levels = LogLevelControl(
        lambda: load_settings(config).telemetry.logs, None if log_level is None else log_level.value
    )
    levels.begin(settings.telemetry.logs)
    registry = installed_registry()
    for problem in (*registry.failed_actions.values(), *registry.failed_plugins.values()):
        _LOG.warning("not available: %s", problem)
    if cost := describe_placement_cost(settings.profile, registry):
        _LOG.warning("placement is slower: %s", cost)
    from_command_line = Security.model_construct(
        tls_cert=tls_cert, tls_key=tls_key, tls_client_ca=tls_client_ca, token_file=token_file
    )
    settings = settings._replace(
        security=settings.security.with_overrides(from_command_line),
        records=settings.records.with_overrides(records, is_off=no_records),
    )
    is_encrypted = settings.security.tls_cert is not None
    check_listen_address(listen, allow_plaintext=allow_plaintext, is_encrypted=is_encrypted)
    run_server(settings, listen, _announce, levels.reload)


def _announce(address: str) -> None:
    print(f"tenure: serving on {address}", flush=True)
