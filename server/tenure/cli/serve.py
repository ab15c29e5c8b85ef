"""`tenure serve`: the server process."""

from pathlib import Path
from typing import Annotated

import typer
from tenure.process.options import LogLevel

Listen = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Address to listen on; port 0 takes any free port.")
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Scheduler configuration; without it the default profile."),
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
        help="Tokens, one per line, with or without a name before it; every call but health checks must "
        "carry one of them.",
    ),
]


RecordsTo = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where decisions are recorded, for `tenure records` and `tenure replay`; without it, where the "
        "configuration says.",
    ),
]
NoRecords = Annotated[bool, typer.Option("--no-records", help="Record nothing.")]


Level = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level",
        help="Lines on standard error: warning tells what somebody should mend, info also what cycles "
        "nominate for a requeue and what not, debug every check of it. Else telemetry.logs.level of the "
        "configuration, which SIGHUP lets the server read again; warning when nobody says.",
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

    Prints one line when calls are answered; its last word is the address. When told to stop, the server
    becomes NOT_SERVING, finishes the calls in flight and exits with 0. Certificates and tokens are read again
    when their files change.
    """
    if records and no_records:
        raise typer.BadParameter("does not go with --no-records", param_hint="--records")
    from tenure.process.log_format import LogLevelControl
    from tenure.server.grpc_server import serve as serve_until_told
    from tenure.server.listen_address import check_listen_address
    from tenure.server.settings import Security, load_settings

    settings = load_settings(config)
    levels = LogLevelControl(
        lambda: load_settings(config).telemetry.logs, None if log_level is None else log_level.value
    )
    levels.begin(settings.telemetry.logs)
    said = Security.model_construct(
        tls_cert=tls_cert, tls_key=tls_key, tls_client_ca=tls_client_ca, token_file=token_file
    )
    settings = settings._replace(
        security=settings.security.with_overrides(said),
        records=settings.records.with_overrides(records, is_off=no_records),
    )
    is_encrypted = settings.security.tls_cert is not None
    check_listen_address(listen, allow_plaintext=allow_plaintext, is_encrypted=is_encrypted)
    serve_until_told(settings, listen, _announce, levels.reload)


def _announce(address: str) -> None:
    print(f"tenure: serving on {address}", flush=True)
