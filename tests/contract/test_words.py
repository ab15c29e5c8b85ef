"""Words that the style guide excludes from documentation, protos, docstrings, comments and messages."""

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
_CHECKED: Final = (
    *("docs/**/*.md", "README.md", "protos/**/*", "client/**/*.py", "server/**/*.py"),
    *("server/**/*.yaml", "docker/**/*.yaml"),
)


def _files(globs: tuple[str, ...]) -> set[Path]:
    found = {path for glob in globs for path in ROOT.glob(glob)}
    return {
        path for path in found if path.suffix in {".md", ".proto", ".py", ".yaml"} and "_pb2" not in path.name
    }


def prose_of(text: str, suffix: str) -> Iterator[str]:
    """The text of a page, the comments of a proto or a YAML file, or the docstrings, comments and messages of
    a module.

    A message is a text with a space, so that keys and names of fields are not checked.
    """
    if suffix == ".md":
        yield text
    elif suffix == ".proto":
        yield from re.findall(r"//(.*)", text)
    elif suffix == ".yaml":
        yield from re.findall(r"(?:^|\s)#(.*)", text, re.MULTILINE)
    else:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
                yield node.value
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def excluded_words(path: Path) -> set[str]:
    """Excluded words in a file, in lower case."""
    return excluded_words_of(path.read_text(encoding="utf-8"), path.suffix)


def excluded_words_of(text: str, suffix: str) -> set[str]:
    """Excluded words in the prose of a text, in lower case."""
    return {word.lower() for part in prose_of(text, suffix) for word in _EXCLUDED.findall(part)}


def test_files_have_no_excluded_words() -> None:
    found = {path: excluded_words(path) for path in sorted(_files(_CHECKED))}
    assert len(found) > 100
    assert {str(path.relative_to(ROOT)): words for path, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "suffix", "parts"),
    [
        ("nobody", ".md", ["nobody"]),
        ("string room = 1;  // a room", ".proto", [" a room"]),
        ("room: 1  # a room\nnote: a#b", ".yaml", [" a room"]),
        ('"""A module."""\nroom = "room"  # note', ".py", ["A module.", "# note"]),
        ('raise Error(f"{kind} is unknown: {name}")', ".py", [" is unknown: "]),
    ],
)
def test_only_prose_is_checked(text: str, suffix: str, parts: list[str]) -> None:
    assert list(prose_of(text, suffix)) == parts


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("Nobody is asked.", ".md"),
        ("string pod = 1;  // Who was promised it.", ".proto"),
        ("# Nobody yields.", ".yaml"),
        ('"""What became of it."""', ".py"),
        ("pods = 1  # Mend this.", ".py"),
        ('raise Error("there is no room")', ".py"),
    ],
)
def test_excluded_words_are_found(text: str, suffix: str) -> None:
    assert len(excluded_words_of(text, suffix)) == 1
