"""`tenure console`: the web console."""

from enum import StrEnum
from importlib.util import find_spec
from typing import Annotated

import typer
from tenure.process.options import AllowPlaintext, TlsCa, TlsCert, TlsKey, TokenFile


class AudienceName(StrEnum):
    """Whose texts are shown."""

    OPERATOR = "operator"
    TENANT = "tenant"


def console(
    server: Annotated[str, typer.Option(metavar="ADDRESS", help="Address of the service.")],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address of the pages; port 0 takes any free port.")
    ] = "127.0.0.1:8080",
    audience: Annotated[
        AudienceName,
        typer.Option(help="operator: everything; tenant: only --queue, with texts that name no others."),
    ] = AudienceName.OPERATOR,
    queue: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="With --audience tenant: a queue that is shown, with those below it."
        ),
    ] = None,
    forward_authorization: Annotated[
        bool,
        typer.Option(
            "--forward-authorization",
            help="Every request needs `Authorization: Bearer TOKEN`, as a proxy for OIDC adds it. The "
            "service decides with this token what the reader may read, simulate and explain.",
        ),
    ] = False,
    allow_anonymous: Annotated[
        bool,
        typer.Option("--allow-anonymous", help="Allow non-loopback addresses without authentication."),
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Accepted host name of requests; *.example.com is a pattern."),
    ] = None,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokenFile = None,
    allow_plaintext: AllowPlaintext = False,
) -> None:
    """Serve pages about the clusters of a service until SIGTERM or Ctrl-C. Read-only.

    Prints one line when ready, which ends with the address. Needs the extra `console`:
    pip install 'tenure[console]'
    """
    if missing := missing_packages():
        raise typer.BadParameter(f"{missing[0]} is missing: pip install 'tenure[console]'")
    from tenure.console.access import Audience
    from tenure.console.process import ConsoleError, ConsoleOptions, ServiceConnection, run

    connection = ServiceConnection(server, tls_ca, tls_cert, tls_key, token_file, allow_plaintext)
    options = ConsoleOptions(
        listen=listen,
        audience=Audience(audience.value),
        queues=tuple(queue or ()),
        hosts=tuple(allowed_host or ()),
        forward_authorization=forward_authorization,
        allow_anonymous=allow_anonymous,
    )
    try:
        run(connection, options, _announce)
    except ConsoleError as error:
        raise typer.BadParameter(str(error)) from None


def missing_packages() -> list[str]:
    """Packages of the extra `console` that are not installed."""
    return [name for name in ("starlette", "uvicorn", "jinja2") if find_spec(name) is None]


def _announce(address: str) -> None:
    print(f"tenure: console on {address}", flush=True)
