"""Ctrl-C and SIGTERM end a long command with a message and an exit code of their own, without a traceback."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import typer

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""
TERMINATED: Final = 143
"""Exit code after SIGTERM."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised as a `KeyboardInterrupt`, so that cleanup for Ctrl-C also runs."""


@contextmanager
def clean_end(advice: str) -> Iterator[None]:
    """End the command if a signal comes within the block; `advice` says how to go on."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except Terminated:
        typer.echo(f"tenure: terminated; {advice}", err=True)
        raise typer.Exit(TERMINATED) from None
    except KeyboardInterrupt:
        typer.echo(f"tenure: interrupted; {advice}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt the end
    raise Terminated
