"""Printing of texts that others wrote: names of tenants, texts of a server, contents of a file."""

from collections.abc import Iterator
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from tenure.process.printable_output import beside
from tenure.wire.violations import printable_lines


class TerminalConsole(Console):
    """A console whose texts have no control characters, so that no name can command the terminal.

    Rich removes some of them, but keeps escape sequences and characters that reverse the direction of text.
    Its own sequences, such as those of colors, are written beside the streams that escape them. No text is
    markup unless it is said to be: a name could otherwise choose colors, and links to anywhere.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, **options})

    @property
    def file(self) -> IO[str]:
        """Where it writes."""
        return beside(super().file)

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render as rich does, with escaped texts, which may be longer than their column."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)
