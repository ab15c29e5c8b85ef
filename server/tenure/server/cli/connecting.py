"""How commands reach a server: options that `tenure decide` and `tenure workloads` share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from tenure.client import Client

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
BeyondLoopback = Annotated[
    bool,
    typer.Option(
        "--insecure-beyond-loopback",
        help="Permit to send a token to another machine though calls are not encrypted.",
    ),
]


def refuse_config(config: Path | None) -> None:
    """Refuse a configuration that would be of no account."""
    if config:
        raise typer.BadParameter("a server decides with its own configuration", param_hint="--config")


class Connection(NamedTuple):
    """A server, and what is shown to it and asked of it."""

    server: str | None
    timeout: str
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token_file: Path | None = None
    insecure_beyond_loopback: bool = False

    def client(self, server: str) -> "Client":
        """A client of the server."""
        from tenure.client import Client
        from tenure.solver.model.duration import SECOND, parse_duration

        try:
            seconds = parse_duration(self.timeout) / SECOND
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--timeout") from None
        return Client(
            server,
            timeout=seconds,
            tls_ca=self.tls_ca,
            tls_cert=self.tls_cert,
            tls_key=self.tls_key,
            token_file=self.token_file,
            insecure_beyond_loopback=self.insecure_beyond_loopback,
        )
