"""One value put into a text at a path of keys, written as its surroundings are.

Nothing is ever written where an alias or a merge key would carry it to other places, or where it would hide
something: that is `Unsafe`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tenure.server.migrate.layout import Layout, Pair
from tenure.server.migrate.nodes import Mapping, Scalar, lookup
from tenure.server.migrate.style import Path, Style


class Unsafe(ValueError):
    """The text cannot be changed there without changing something else. Says why."""


class Edit(NamedTuple):
    """Write `text` over what stands from `start` to `end`."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


@dataclass(frozen=True, slots=True)
class Writer:
    """Puts a value into one object of a text, after the key `beside` where that is a neighbour."""

    layout: Layout
    root: Mapping
    value: str
    beside: str

    def put(self, path: Path) -> Edit:
        """The edit after which the value stands at the path.

        What is missing on the way is added; what stands there and is empty is replaced. Raises Unsafe.
        """
        node, quote = self.root, ""
        for depth, key in enumerate(path):
            here, rest = ".".join(path[: depth + 1]), path[depth + 1 :]
            if node.shared:
                raise Unsafe(f"a YAML anchor shares what is around {here} with other places")
            found = node.own(key)
            if found is None:
                if rest and lookup(node, key):
                    raise Unsafe(f"{here} comes from a YAML merge key")
                return self._insert(node, (key, *rest), quote)
            name, below = found
            if isinstance(below, Scalar) and below.is_empty:
                return self._replace(name, below, rest)
            if not isinstance(below, Mapping):
                raise Unsafe(f"{here} is not a mapping from keys to values")
            node, quote = below, name.style
        raise Unsafe(f"{'.'.join(path)} is not a text")

    def _replace(self, name: Scalar, old: Scalar, rest: Path) -> Edit:
        """What is empty gives way to the value itself, or to braces around it."""
        if old.start < name.end or old.is_block:
            raise Unsafe(f"{name.text} is empty in a manner that is not changed")
        style = Style(name.style, name.style or old.style)
        blank = " " if self.layout.text[old.start - 1] == ":" else ""
        return Edit(old.start, old.end, blank + style.content(rest, self.value))

    def _insert(self, node: Mapping, keys: Path, quote: str) -> Edit:
        if not node.pairs:
            at = node.end - 1
            return Edit(at, at, Style(quote, quote).in_braces(keys, self.value))
        return self._into_braces(node, keys) if node.flow else self._into_block(node, keys)

    def _into_block(self, node: Mapping, keys: Path) -> Edit:
        first, pair = node.pairs[0][0], self._neighbour(node)
        if not self.layout.starts_plainly(first):
            raise Unsafe(f"the keys around {keys[0]} are written in a manner that is not changed")
        style = self.layout.block_style(node, self.root)
        if pair is None:
            return Edit(first.start, first.start, style.as_block(keys, self.value) + style.lead)
        style = style._replace(value_quote=pair.quote_for(self.beside))
        at = self.layout.line_end(pair.value.end)
        return Edit(at, at, style.lead + style.as_block(keys, self.value))

    def _into_braces(self, node: Mapping, keys: Path) -> Edit:
        pair = self._neighbour(node)
        if pair is None:
            raise Unsafe(f"the keys around {keys[0]} are written in a manner that is not changed")
        style = self.layout.brace_style(pair, node)
        style = style._replace(value_quote=style.key_quote or pair.quote_for(self.beside))
        at = pair.value.end
        return Edit(at, at, style.separator + style.in_braces(keys, self.value))

    def _neighbour(self, node: Mapping) -> Pair | None:
        """The pair to follow: the one of `beside`, else the last one after which a line can be added."""
        named = (Pair(key, value) for key, value in node.pairs if isinstance(key, Scalar))
        pairs = [pair for pair in named if _can_be_followed(pair, node)]
        wanted = [pair for pair in pairs if pair.key.text == self.beside]
        return next(reversed(wanted or pairs), None)


def _can_be_followed(pair: Pair, node: Mapping) -> bool:
    """Not an alias, whose node is elsewhere; in a block, only a key without `?` and a value on its line."""
    key, value = pair
    if value.start < key.end:
        return False
    in_line = key.column == node.pairs[0][0].column and isinstance(value, Scalar) and not value.is_block
    return node.flow or in_line
