"""One value put into a text at a path of keys, written as its surroundings are.

Nothing is ever written where an alias or a merge key would carry it to other places, or where it would hide
something: that is `UnsafeEdit`.

How a key with its value is written: in braces or as a block, quoted or not, on one line or several.

What a text shows of how it is written: indentation, line ends, quotes.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeGuard

from tenure.cli.migration.syntax_tree import MappingNode, Node, ScalarNode, lookup

Path = tuple[str, ...]
STEP = "  "


class Style(NamedTuple):
    """A manner of writing. `lead` begins a line of its own; when it is empty, all stays on one line."""

    key_quote: str = ""
    value_quote: str = ""
    colon: str = ": "
    lead: str = ""
    step: str = STEP

    @property
    def separator(self) -> str:
        """What stands between two pairs in braces."""
        return "," + (self.lead or (" " if self.colon.endswith(" ") else ""))

    def in_braces(self, keys: Path, value: str) -> str:
        """The pair of the first key; the other keys are braces around the value."""
        key, *rest = keys
        return f"{self.key_quote}{key}{self.key_quote}{self.colon}{self.content(tuple(rest), value)}"

    def content(self, keys: Path, value: str) -> str:
        """The value, in one pair of braces for each key."""
        if not keys:
            return f"{self.value_quote}{value}{self.value_quote}"
        inner = self._replace(lead=self.lead and self.lead + self.step)
        return "{" + inner.lead + inner.in_braces(keys, value) + self.lead + "}"

    def as_block(self, keys: Path, value: str) -> str:
        """The pair of the first key, each further key on a line of its own below."""
        lines = [f"{self.step * depth}{key}:" for depth, key in enumerate(keys)]
        return self.lead.join(lines) + f" {self.value_quote}{value}{self.value_quote}"


_NEWLINE: Final = re.compile(r"\r\n|\n|\r")
_LINE_END: Final = re.compile(r"[\r\n\x85\u2028\u2029]")
"""What ends a line for a YAML parser."""
_DASHES: Final = re.compile(r"[ -]*")
"""What may stand before the first key of a block: the dashes of the lists that it is an item of."""


class Pair(NamedTuple):
    """A key and its value in a mapping."""

    key: ScalarNode
    value: Node

    def quote_for(self, beside: str) -> str:
        """The quote of its value, when it is the pair that the new one is to be like."""
        return self.value.style if self.key.text == beside and isinstance(self.value, ScalarNode) else ""


@dataclass(frozen=True, slots=True)
class Layout:
    """A text with positions of its lines."""

    text: str

    @property
    def newline(self) -> str:
        """How its lines end, by the first one."""
        found = _NEWLINE.search(self.text)
        return found[0] if found else "\n"

    def line_end(self, position: int) -> int:
        """Where the line of a position ends, before its line end."""
        found = _LINE_END.search(self.text, position)
        return found.start() if found else len(self.text)

    def starts_plainly(self, node: Node) -> bool:
        """Whether something is written for it, with nothing but dashes before it on its line."""
        return node.end > node.start and bool(_DASHES.fullmatch(self._before(node)))

    def block_style(self, block: MappingNode, root: MappingNode) -> Style:
        """How a further pair is written in a block of the object."""
        return Style(lead=self.newline + " " * block.pairs[0][0].column, step=self._block_step(root))

    def brace_style(self, pair: Pair, braces: MappingNode) -> Style:
        """How a further pair is written in the braces in which this one is."""
        key, before = pair.key, self._before(pair.key)
        colon = self.text[key.end : pair.value.start]
        return Style(
            key_quote=key.style,
            colon=colon if colon.strip(" ") == ":" else ": ",
            lead=self.newline + before if before.isspace() else "",
            step=self._brace_step(before, braces),
        )

    def _block_step(self, root: MappingNode) -> str:
        """By how much the object indents what is inside, as the first block inside shows."""
        outer = root.pairs[0][0].column
        inner = (value.pairs[0][0].column for _, value in root.pairs if _is_block(value))
        return next((" " * (column - outer) for column in inner if column > outer), STEP)

    def _brace_step(self, inside: str, braces: MappingNode) -> str:
        """By how much the braces indent what is inside, against the line on which they open."""
        opening = self._before(braces)
        outside = opening[: len(opening) - len(opening.lstrip())]
        return inside.removeprefix(outside) if inside.startswith(outside) else STEP

    def _before(self, node: Node) -> str:
        return self.text[node.start - node.column : node.start]


def _is_block(node: Node) -> TypeGuard[MappingNode]:
    return isinstance(node, MappingNode) and not node.flow


class UnsafeEdit(ValueError):
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
class ValueWriter:
    """Puts a value into one object of a text, after the key `beside` where that is a neighbour."""

    layout: Layout
    root: MappingNode
    value: str
    neighbor: str

    def put(self, path: Path) -> Edit:
        """The edit after which the value stands at the path.

        What is missing on the way is added; what stands there and is empty is replaced. Raises UnsafeEdit.
        """
        node, quote = self.root, ""
        for depth, key in enumerate(path):
            here, rest = ".".join(path[: depth + 1]), path[depth + 1 :]
            if node.shared:
                raise UnsafeEdit(f"a YAML anchor shares what is around {here} with other places")
            found = node.own(key)
            if found is None:
                if rest and lookup(node, key):
                    raise UnsafeEdit(f"{here} comes from a YAML merge key")
                return self._insert(node, (key, *rest), quote)
            name, below = found
            if isinstance(below, ScalarNode) and below.is_empty:
                return self._replace(name, below, rest)
            if not isinstance(below, MappingNode):
                raise UnsafeEdit(f"{here} is not a mapping from keys to values")
            node, quote = below, name.style
        raise UnsafeEdit(f"{'.'.join(path)} is not a text")

    def _replace(self, name: ScalarNode, old: ScalarNode, rest: Path) -> Edit:
        """What is empty gives way to the value itself, or to braces around it."""
        if old.start < name.end or old.is_block:
            raise UnsafeEdit(f"{name.text} is empty in a manner that is not changed")
        style = Style(name.style, name.style or old.style)
        blank = " " if self.layout.text[old.start - 1] == ":" else ""
        return Edit(old.start, old.end, blank + style.content(rest, self.value))

    def _insert(self, node: MappingNode, keys: Path, quote: str) -> Edit:
        if not node.pairs:
            at = node.end - 1
            return Edit(at, at, Style(quote, quote).in_braces(keys, self.value))
        return self._into_braces(node, keys) if node.flow else self._into_block(node, keys)

    def _into_block(self, node: MappingNode, keys: Path) -> Edit:
        first, pair = node.pairs[0][0], self._neighbour(node)
        if not self.layout.starts_plainly(first):
            raise UnsafeEdit(f"the keys around {keys[0]} are written in a manner that is not changed")
        style = self.layout.block_style(node, self.root)
        if pair is None:
            return Edit(first.start, first.start, style.as_block(keys, self.value) + style.lead)
        style = style._replace(value_quote=pair.quote_for(self.neighbor))
        at = self.layout.line_end(pair.value.end)
        return Edit(at, at, style.lead + style.as_block(keys, self.value))

    def _into_braces(self, node: MappingNode, keys: Path) -> Edit:
        pair = self._neighbour(node)
        if pair is None:
            raise UnsafeEdit(f"the keys around {keys[0]} are written in a manner that is not changed")
        style = self.layout.brace_style(pair, node)
        style = style._replace(value_quote=style.key_quote or pair.quote_for(self.neighbor))
        at = pair.value.end
        return Edit(at, at, style.separator + style.in_braces(keys, self.value))

    def _neighbour(self, node: MappingNode) -> Pair | None:
        """The pair to follow: the one of `beside`, else the last one after which a line can be added."""
        named = (Pair(key, value) for key, value in node.pairs if isinstance(key, ScalarNode))
        pairs = [pair for pair in named if _can_be_followed(pair, node)]
        wanted = [pair for pair in pairs if pair.key.text == self.neighbor]
        return next(reversed(wanted or pairs), None)


def _can_be_followed(pair: Pair, node: MappingNode) -> bool:
    """Not an alias, whose node is elsewhere; in a block, only a key without `?` and a value on its line."""
    key, value = pair
    if value.start < key.end:
        return False
    in_line = key.column == node.pairs[0][0].column and isinstance(value, ScalarNode) and not value.is_block
    return node.flow or in_line
