"""The text of a file of jobs or nodes."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from tenure.simulator.jobs import TraceError


def read_text(path: Path) -> tuple[str, bool]:
    """The text of a file without a byte order mark, and whether it had one. Raises TraceError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise TraceError(f"{path}: has the byte order mark of UTF-16; save it as UTF-8")
    try:
        text = content.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: byte {error.start} is not valid UTF-8") from None
    return text, content.startswith(BOM_UTF8)
