"""What commands that look at Kubernetes objects have in common."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from tenure.client.kubernetes.observe.warnings import Warned

_SHOWN: Final = 20
"""Doubts that are told one by one; of the rest, only the number."""


@contextmanager
def in_kubernetes_extra() -> Iterator[None]:
    """Tell what to install when an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("lightkube", "httpx2", "msgspec"):
            raise
        said = "looking at Kubernetes objects needs more packages: pip install 'tenure[kubernetes]'"
        raise typer.BadParameter(said) from None


def tell_doubts(warnings: "Sequence[Warned]", unreadable: int) -> None:
    """Say on standard error what could not be taken over as it was."""
    for warned in warnings[:_SHOWN]:
        typer.echo(f"{warned.subject}: {warned.text}", err=True)
    if len(warnings) > _SHOWN:
        typer.echo(f"and {len(warnings) - _SHOWN:,} more like these", err=True)
    if unreadable:
        typer.echo(f"{unreadable:,} objects cannot be read: they are left out", err=True)
