"""The catalog of sentences: every template of the explanation code, read from its source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import tenure.server.explain

_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_WORD: Final = re.compile(r"[A-Za-z]{2,}")
_LEAST_WORDS: Final = 2
_OF_ENUM: Final = re.compile(r"[A-Z_]+(\{\})?")


def sentence_templates() -> set[str]:
    """Sentences, and beginnings of sentences, in the modules of the explanation code.

    Every variable part is `{}`.
    """
    found = set[str]()
    for path in sorted(Path(next(iter(tenure.server.explain.__path__))).glob("*.py")):
        for text in _strings(ast.parse(path.read_text(encoding="utf-8"))):
            words = len(_WORD.findall(_PLACEHOLDER.sub(" ", text)))
            if " | " in text or _OF_ENUM.fullmatch(text):  # a type, or a name of a value
                continue
            if words >= _LEAST_WORDS and (text.endswith(".") or (text[0].isupper() and words > _LEAST_WORDS)):
                found.add(text.strip())
    return found


def glue_templates() -> set[str]:
    """Templates that put sentences together from parts, and have no words of their own."""
    found = set[str]()
    for path in sorted(Path(next(iter(tenure.server.explain.__path__))).glob("*.py")):
        for text in _strings(ast.parse(path.read_text(encoding="utf-8"))):
            if text.endswith(".") and text.count("{}") > 1 and not _WORD.search(_PLACEHOLDER.sub("", text)):
                found.add(text)
    return found


def _strings(module: ast.Module) -> Iterator[str]:
    """Literals, and formatted ones as a whole, without documentation."""
    skipped = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node) if part is not node)
    for node in ast.walk(module):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(_part(value) for value in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield _PLACEHOLDER.sub("{}", node.value)


def _part(value: ast.expr) -> str:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else "{}"


def split_sentences(text: str) -> list[str]:
    """The sentences of an explanation. Names in it have no dot before a space."""
    return [sentence for sentence in re.split(r"(?<=\.) (?!Reason:)", text) if sentence]


def pattern_of(template: str) -> re.Pattern[str]:
    """What a sentence of the template looks like; its variable parts are groups.

    A part before a whole sentence is a sentence of its own, and may be missing.
    """
    parts = [re.escape(part) for part in template.split("{}")]
    joined = "(.*?)".join(parts)
    if re.match(r"\{\} [A-Z{]", template):
        joined = joined.replace(r"(.*?)\ ", r"(.*?)\ ?", 1)
    return re.compile(joined)
