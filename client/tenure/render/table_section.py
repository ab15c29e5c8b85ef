"""Section of a report: a titled table, summarized if it is long."""

from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

MAX_ROWS: Final = 20
"""A table with more rows is summarized."""
SAMPLE_ROWS: Final = 5
"""Rows that are printed after a summary."""
MAX_SUMMARY_ROWS: Final = 12


class TableColumn(NamedTuple):
    """Heading of a column, whether its text wraps, and its style."""

    heading: str
    wraps: bool = False
    right: bool = False
    bold: bool = False


class TableRow(NamedTuple):
    """Cells of a row, and the key that a summary counts it by."""

    cells: tuple[str, ...]
    kind: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableSection:
    """A titled table.

    `kinds` are the headings of the summary, one for each part of a row's kind. `footer` explains the columns
    to new readers.
    """

    title: str
    columns: tuple[TableColumn, ...]
    kinds: tuple[str, ...]
    rows: list[TableRow]
    footer: str = ""

    def print(self, console: Console) -> None:
        """Print all rows, or a summary and the first rows. Print nothing if there are none."""
        if not self.rows:
            return
        console.print(Text(self.title, style="bold"))
        if self.footer:
            console.print(Text(self.footer, style="dim"))
        if len(self.rows) <= MAX_ROWS:
            console.print(self._table(self.rows), "")
        else:
            self._print_long(console)

    def _print_long(self, console: Console) -> None:
        console.print(self._summary())
        console.print(f"\nThe first {SAMPLE_ROWS} of {len(self.rows):,}:\n", highlight=False)
        console.print(self._table(self.rows[:SAMPLE_ROWS]))
        console.print(
            f"… and {len(self.rows) - SAMPLE_ROWS:,} more: --output json shows all.\n", highlight=False
        )

    def _table(self, rows: list[TableRow]) -> Table:
        table = empty_table(self.columns)
        for row in rows:
            table.add_row(*map(Text, row.cells))
        return table

    def _summary(self) -> Table:
        kinds = Counter(row.kind for row in self.rows)
        ranked = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
        table = empty_table(
            (TableColumn("Count", right=True), *(TableColumn(kind, wraps=True) for kind in self.kinds))
        )
        for kind, number in ranked[:MAX_SUMMARY_ROWS]:
            table.add_row(f"{number:,}", *map(Text, kind))
        if rest := sum(number for _, number in ranked[MAX_SUMMARY_ROWS:]):
            table.add_row(f"{rest:,}", "other", *[""] * (len(self.kinds) - 1))
        return table


def empty_table(columns: tuple[TableColumn, ...]) -> Table:
    """A table with headings in the style of all reports."""
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
