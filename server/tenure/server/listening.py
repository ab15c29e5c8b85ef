"""Addresses to listen on, and which of them are safe without encryption."""

from ipaddress import ip_address


class ListenError(ValueError):
    """The server cannot or may not listen on an address. Says what to do instead."""


def check_listen_address(address: str, *, beyond_loopback: bool, is_encrypted: bool = False) -> None:
    """Refuse with ListenError an address that is malformed, or reachable from other machines in clear text.

    `beyond_loopback` permits the latter, tokens included: for networks that are private or encrypted by
    other means. With TLS (`is_encrypted`) every address is fine.
    """
    if address.startswith("unix:"):
        return
    host, colon, port = address.rpartition(":")
    is_bare_ipv6 = ":" in host and not host.startswith("[")
    if not colon or is_bare_ipv6 or not port.isdecimal() or int(port) > 65_535:
        raise ListenError(f"{address!r} is not HOST:PORT: write something like 127.0.0.1:50051")
    if not (is_encrypted or beyond_loopback) and not is_loopback(host.strip("[]")):
        raise ListenError(
            f"{address!r} can be reached from other machines, and calls are not encrypted: add --tls-cert "
            "and --tls-key, or listen on 127.0.0.1, or add --insecure-beyond-loopback on a network you trust"
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine only; names other than localhost could mean anything."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
