"""Options shared by commands of several packages: connections to a server, and output."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

TlsCa = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="PEM file with the CA of the server's certificate. Enables TLS."),
]
TlsCert = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="PEM file with the client certificate. Enables TLS."),
]
TlsKey = Annotated[
    Path | None, typer.Option(metavar="FILE", help="PEM file with the private key of --tls-cert.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", envvar="TENURE_TOKEN_FILE", help="File with the token for --server."),
]
AllowPlaintext = Annotated[
    bool,
    typer.Option(
        "--allow-plaintext",
        help="Allow sending a token to another machine over an unencrypted connection.",
    ),
]


class Output(StrEnum):
    """Output formats."""

    TABLE = "table"
    JSON = "json"


class LogLevel(StrEnum):
    """Levels of log messages on standard error."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
