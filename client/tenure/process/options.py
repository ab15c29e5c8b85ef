"""Options that commands of several packages share: how to reach a server, and how to print."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

TlsCa = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="CA of the certificate of --server, in PEM; turns TLS on."),
]
TlsCert = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Certificate to show to --server, in PEM; turns TLS on."),
]
TlsKey = Annotated[Path | None, typer.Option(metavar="FILE", help="Private key of --tls-cert, in PEM.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", envvar="TENURE_TOKEN_FILE", help="File with the token to show to --server."),
]
AllowPlaintext = Annotated[
    bool,
    typer.Option(
        "--allow-plaintext",
        help="Permit to send a token to another machine though calls are not encrypted.",
    ),
]


class Output(StrEnum):
    """How the answer is printed."""

    TABLE = "table"
    JSON = "json"


class LogLevel(StrEnum):
    """From which level on a process writes lines to standard error."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
