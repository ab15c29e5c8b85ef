"""Printing of texts that others wrote: names of tenants, texts of a server, contents of a file."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from tenure.wire.violations import printable_lines


class TerminalConsole(Console):
    """A console whose texts have no control characters, so that no name can command the terminal.

    Rich removes some of them, but keeps escape sequences and characters that reverse the direction of text.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """See Console. Escaped texts may be longer than their column."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)
