"""The files of manifests: found, read, and replaced as a whole."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import copymode
from tempfile import NamedTemporaryFile
from typing import Final

ENDINGS: Final = (".yaml", ".yml", ".json")
"""Endings of the names of files that are read."""

_BOM: Final = "\ufeff"


class ManifestError(ValueError):
    """Files cannot be read or written. Each line names a file and what is wrong with it."""


def find_files(path: Path) -> list[Path]:
    """The file, or all manifests below the directory, ordered by name.

    Symbolic links inside a directory are not followed: what they lead to is either found anyway or is not
    in the directory. Raises ManifestError.
    """
    if path.is_dir():
        return sorted(_below(path))
    if path.suffix.lower() not in ENDINGS:
        raise ManifestError(f"{path}: is neither a directory nor a file that ends in {', '.join(ENDINGS)}")
    return [path]


def read_text(path: Path) -> tuple[str, str]:
    """The byte order mark, if there is one, and the text after it. Raises ManifestError."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        fault = f"byte {error.start} is no part of a character"
        raise ManifestError(f"{path}: is not UTF-8 text: {fault}") from None
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def replace_text(path: Path, text: str) -> None:
    """Writes a file anew, so that whoever reads it sees the old text or the new one. Raises ManifestError.

    A link that was named on the command line stays one: the file that it leads to is replaced.
    """
    target = path.resolve()
    try:
        with NamedTemporaryFile("wb", dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            try:
                file.write(text.encode())
                file.close()
                copymode(target, file.name)
                os.replace(file.name, target)
            except BaseException:
                with suppress(OSError):
                    os.unlink(file.name)
                raise
    except OSError as error:
        raise ManifestError(f"{path}: cannot be written: {error.strerror}") from None


def _below(folder: Path) -> Iterator[Path]:
    for where, _, names in os.walk(folder, onerror=_refuse):
        for name in names:
            file = Path(where, name)
            if file.suffix.lower() in ENDINGS and file.is_file() and not file.is_symlink():
                yield file


def _refuse(error: OSError) -> None:
    raise ManifestError(f"{error.filename}: cannot be read: {error.strerror}") from None
