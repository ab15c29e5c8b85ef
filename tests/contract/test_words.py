"""Words that the style guide excludes from documentation, protos, docstrings and comments."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
_EXCLUDED: Final = re.compile(
    r"\b(nobody|somebody|whoever|whom|anew|mend|came to nothing|what became of|of account|has a say"
    r"|redeem(?:s|ed)?|promise[sd]?|openings?|rooms?|doubt(?:s|ful)?)\b",
    re.IGNORECASE,
)
_CHECKED: Final = ("docs/**/*.md", "README.md", "protos/**/*", "client/**/*.py", "server/**/*.py")
TO_REWRITE: Final = (
    "README.md",
    "docs/**/*.md",
    "protos/README.md",
    "protos/tenure/terms/**/*.py",
    "server/tenure/solver/framework/**/*.py",
    "server/tenure/solver/plugin_api/**/*.py",
    "server/tenure/solver/plugins/**/*.py",
)
"""Files that are not rewritten yet, as globs. Remove entries; never add one."""
QUOTATIONS: Final[frozenset[tuple[str, str]]] = frozenset()
"""Permitted occurrences: path and excluded word, in lower case."""


def _files(globs: tuple[str, ...]) -> set[Path]:
    found = {path for glob in globs for path in ROOT.glob(glob)}
    return {path for path in found if path.suffix in {".md", ".proto", ".py"} and "_pb2" not in path.name}


def prose_of(text: str, suffix: str) -> Iterator[str]:
    """The text of a page, the comments of a proto, or the docstrings and comments of a module."""
    if suffix == ".md":
        yield text
    elif suffix == ".proto":
        yield from re.findall(r"//(.*)", text)
    else:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                yield str(node.value.value)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def excluded_words(path: Path) -> set[str]:
    """Excluded words in a file, in lower case, without permitted quotations."""
    name = path.relative_to(ROOT).as_posix()
    prose = prose_of(path.read_text(encoding="utf-8"), path.suffix)
    words = {word.lower() for part in prose for word in _EXCLUDED.findall(part)}
    return {word for word in words if (name, word) not in QUOTATIONS}


def test_rewritten_files_have_no_excluded_words() -> None:
    found = {path: excluded_words(path) for path in sorted(_files(_CHECKED) - _files(TO_REWRITE))}
    assert len(found) > 100
    assert {str(path.relative_to(ROOT)): words for path, words in found.items() if words} == {}


@pytest.mark.parametrize("glob", TO_REWRITE)
def test_files_to_rewrite_exist(glob: str) -> None:
    assert _files((glob,)), f"{glob} matches no file: remove it from TO_REWRITE"


@pytest.mark.parametrize(
    ("text", "suffix", "parts"),
    [
        ("nobody", ".md", ["nobody"]),
        ("string room = 1;  // a room", ".proto", [" a room"]),
        ('"""Doc."""\nroom = "room"  # note', ".py", ["Doc.", "# note"]),
    ],
)
def test_only_prose_is_checked(text: str, suffix: str, parts: list[str]) -> None:
    assert list(prose_of(text, suffix)) == parts
