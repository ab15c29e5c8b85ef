"""Standard output and standard error without raw control characters, whatever a command writes.

Texts of others (names of tenants, lines of files, messages of servers) reach a terminal in many ways: tables,
errors, usage errors, logs, warnings, tracebacks. So both streams escape what they are given. Only a console
that escapes texts itself, and adds colors, writes beside them (`beside`).
"""

import codecs
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, Final, TextIO

from tenure.wire.violations import escape_control_characters

_ASCII: Final = codecs.lookup("ascii").name


class PrintableStream(io.TextIOBase):
    """A text stream that escapes everything unprintable but line breaks, and `kept`, before it writes.

    `buffer` takes the content of files, as it is.
    """

    def __init__(self, stream: TextIO, kept: str = "") -> None:
        self.stream = stream
        self._kept = frozenset(f"\n{kept}")

    def write(self, text: str) -> int:
        """Write a text, escaped. Returns its length."""
        self.stream.write(text if text.isprintable() else self._escaped(text))
        return len(text)

    def _escaped(self, text: str) -> str:
        return "".join(one if one in self._kept else escape_control_characters(one) for one in text)

    def flush(self) -> None:
        """Flush the stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Whether a terminal shows it."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Number of the file."""
        return self.stream.fileno()

    def writable(self) -> bool:
        """Whether it can be written: always."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the stream."""
        return self.stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What the stream does with characters that its encoding lacks."""
        return self.stream.errors

    @property
    def buffer(self) -> BinaryIO:
        """Where bytes are written."""
        return self.stream.buffer


@contextmanager
def printable_output(kept: str = "") -> Iterator[None]:
    """Let this process write only printable characters, line breaks and `kept` to its standard streams."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (PrintableStream(_complete(stream), kept) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def beside(stream: IO[str]) -> IO[str]:
    """The stream itself, for a writer that escapes texts on its own."""
    return stream.stream if isinstance(stream, PrintableStream) else stream


def _complete(stream: TextIO) -> TextIO:
    """A stream that no character fails on: click would write beside one of ASCII."""
    if isinstance(stream, io.TextIOWrapper):
        is_ascii = codecs.lookup(stream.encoding).name == _ASCII
        stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")
    return stream
