"""A part of a report: a titled table that stays short however long the answer is."""

from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

MAX_LINES: Final = 20
"""Up to this many lines are shown in full."""
TOP_LINES: Final = 5
"""Lines that are shown, after a summary, when there are more."""
TOP_SUMMARY: Final = 12
"""Lines of the summary."""


class TableColumn(NamedTuple):
    """A column: its heading, whether its text may run over several lines, and how it is set."""

    heading: str
    wraps: bool = False
    right: bool = False
    bold: bool = False


class TableRow(NamedTuple):
    """One line, and what the summary of a long section counts it under."""

    cells: tuple[str, ...]
    kind: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableSection:
    """A titled table. `kinds` heads the columns of the summary, one per part of a line's kind.

    `note` explains the words of the table to people who meet them for the first time.
    """

    title: str
    columns: tuple[TableColumn, ...]
    kinds: tuple[str, ...]
    rows: list[TableRow]
    footer: str = ""

    def print(self, console: Console) -> None:
        """Prints all lines, or a summary and the first ones; nothing when there are none."""
        if not self.rows:
            return
        console.print(Text(self.title, style="bold"))
        if self.footer:
            console.print(Text(self.footer, style="dim"))
        if len(self.rows) <= MAX_LINES:
            console.print(self._table(self.rows), "")
        else:
            self._print_long(console)

    def _print_long(self, console: Console) -> None:
        console.print(self._summary())
        console.print(f"\nThe first {TOP_LINES} of {len(self.rows):,}:\n", highlight=False)
        console.print(self._table(self.rows[:TOP_LINES]))
        console.print(
            f"… and {len(self.rows) - TOP_LINES:,} more: --output json shows all.\n", highlight=False
        )

    def _table(self, lines: list[TableRow]) -> Table:
        table = empty_table(self.columns)
        for line in lines:
            table.add_row(*map(Text, line.cells))
        return table

    def _summary(self) -> Table:
        kinds = Counter(line.kind for line in self.rows)
        ranked = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
        table = empty_table(
            (TableColumn("Count", right=True), *(TableColumn(kind, wraps=True) for kind in self.kinds))
        )
        for kind, number in ranked[:TOP_SUMMARY]:
            table.add_row(f"{number:,}", *map(Text, kind))
        if rest := sum(number for _, number in ranked[TOP_SUMMARY:]):
            table.add_row(f"{rest:,}", "other", *[""] * (len(self.kinds) - 1))
        return table


def empty_table(columns: tuple[TableColumn, ...]) -> Table:
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
