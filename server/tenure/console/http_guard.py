"""What holds for every response: security headers, limits of requests, and assets of the package alone."""

from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Final, NamedTuple

from starlette.datastructures import MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PROBE: Final = "/healthz"
"""Path of liveness probes, which name an address of the pod as the host."""
_MAX_URL: Final = 16_384

_ASSETS: Final = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "theme.js": "text/javascript",
    "idiomorph.min.js": "text/javascript",
    "favicon.svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file of the package. Its digest is part of its URL, so that browsers may keep it for ever."""

    digest: str
    content: bytes
    media_type: str


def read_assets() -> dict[str, Asset]:
    """All files that pages refer to, by name."""
    found = {}
    for name, media_type in _ASSETS.items():
        content = files("tenure.console").joinpath("static", name).read_bytes()
        found[name] = Asset(sha256(content).hexdigest()[:16], content, media_type)
    return found


class SecureHeaders:
    """Adds the security headers to every response, and refuses long URLs and methods that are not reads."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with the security headers for its response, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        if len(scope.get("query_string", b"")) > _MAX_URL:
            await PlainTextResponse("the URL is too long", 414)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


class OwnHosts:
    """Refuses requests by other host names than these, except those of probes, which read nothing."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._own = TrustedHostMiddleware(app, allowed_hosts=hosts, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        app = self._app if scope["type"] == "http" and scope["path"] == PROBE else self._own
        await app(scope, receive, send)
