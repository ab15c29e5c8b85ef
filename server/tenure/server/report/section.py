"""A part of a report: a titled table that stays short however long the answer is."""

from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

MOST_LINES: Final = 20
"""Up to this many lines are shown in full."""
TOP_LINES: Final = 5
"""Lines that are shown, after a summary, when there are more."""
TOP_SUMMARY: Final = 12
"""Lines of the summary."""


class Column(NamedTuple):
    """A column: its heading, whether its text may run over several lines, and how it is set."""

    heading: str
    wraps: bool = False
    right: bool = False
    bold: bool = False


class Line(NamedTuple):
    """One line, and what the summary of a long section counts it under."""

    cells: tuple[str, ...]
    kind: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A titled table. `kinds` heads the columns of the summary, one per part of a line's kind.

    `note` explains the words of the table to people who meet them for the first time.
    """

    title: str
    columns: tuple[Column, ...]
    kinds: tuple[str, ...]
    lines: list[Line]
    note: str = ""

    def print(self, console: Console) -> None:
        """Prints all lines, or a summary and the first ones; nothing when there are none."""
        if not self.lines:
            return
        console.print(Text(self.title, style="bold"))
        if self.note:
            console.print(Text(self.note, style="dim"))
        if len(self.lines) <= MOST_LINES:
            console.print(self._table(self.lines), "")
        else:
            self._print_long(console)

    def _print_long(self, console: Console) -> None:
        console.print(self._summary())
        console.print(f"\nThe first {TOP_LINES} of {len(self.lines):,}:\n", highlight=False)
        console.print(self._table(self.lines[:TOP_LINES]))
        console.print(
            f"… and {len(self.lines) - TOP_LINES:,} more: --output json shows all.\n", highlight=False
        )

    def _table(self, lines: list[Line]) -> Table:
        table = empty_table(self.columns)
        for line in lines:
            table.add_row(*map(Text, line.cells))
        return table

    def _summary(self) -> Table:
        kinds = Counter(line.kind for line in self.lines)
        ranked = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
        table = empty_table((Column("Count", right=True), *(Column(kind, wraps=True) for kind in self.kinds)))
        for kind, number in ranked[:TOP_SUMMARY]:
            table.add_row(f"{number:,}", *map(Text, kind))
        if rest := sum(number for _, number in ranked[TOP_SUMMARY:]):
            table.add_row(f"{rest:,}", "other", *[""] * (len(self.kinds) - 1))
        return table


def empty_table(columns: tuple[Column, ...]) -> Table:
    """A table with headings, set as all our tables are."""
    table = Table(box=SIMPLE_HEAD, header_style="dim", show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(
            column.heading,
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            justify="right" if column.right else "left",
            style="bold" if column.bold else "",
        )
    return table
