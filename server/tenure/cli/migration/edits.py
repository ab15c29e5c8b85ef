"""Set a value in a text at a path of keys, in the style of the surrounding text.

Raises UnsafeEdit where an alias or a merge key would carry the value to other places, or where it would hide
another value.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeGuard

from tenure.cli.migration.syntax_tree import MappingNode, Node, ScalarNode, lookup

Path = tuple[str, ...]
STEP = "  "


class Style(NamedTuple):
    """Style of a new value. `lead` begins a new line; if it is empty, everything stays on one line."""

    key_quote: str = ""
    value_quote: str = ""
    colon: str = ": "
    lead: str = ""
    step: str = STEP

    @property
    def separator(self) -> str:
        """Separator of pairs in braces."""
        return "," + (self.lead or (" " if self.colon.endswith(" ") else ""))

    def in_braces(self, keys: Path, value: str) -> str:
        """The pair of the first key; further keys are nested in braces."""
        key, *rest = keys
        return f"{self.key_quote}{key}{self.key_quote}{self.colon}{self.content(tuple(rest), value)}"

    def content(self, keys: Path, value: str) -> str:
        """The value, nested in braces for each key."""
        if not keys:
            return f"{self.value_quote}{value}{self.value_quote}"
        inner = self._replace(lead=self.lead and self.lead + self.step)
        return "{" + inner.lead + inner.in_braces(keys, value) + self.lead + "}"

    def as_block(self, keys: Path, value: str) -> str:
        """The pair of the first key, with further keys on indented lines below."""
        lines = [f"{self.step * depth}{key}:" for depth, key in enumerate(keys)]
        return self.lead.join(lines) + f" {self.value_quote}{value}{self.value_quote}"


_NEWLINE: Final = re.compile(r"\r\n|\n|\r")
_LINE_END: Final = re.compile(r"[\r\n\x85\u2028\u2029]")
"""Line ends of YAML."""
_DASHES: Final = re.compile(r"[ -]*")
"""Text before the first key of a block: indentation and list dashes."""


class Pair(NamedTuple):
    """A key and its value in a mapping."""

    key: ScalarNode
    value: Node

    def quote_for(self, beside: str) -> str:
        """Quote of its value, for pairs that a new one imitates."""
        return self.value.style if self.key.text == beside and isinstance(self.value, ScalarNode) else ""


@dataclass(frozen=True, slots=True)
class Layout:
    """A text with its line positions."""

    text: str

    @property
    def newline(self) -> str:
        """Line end of the first line."""
        found = _NEWLINE.search(self.text)
        return found[0] if found else "\n"

    def line_end(self, position: int) -> int:
        """End of the line of a position, before the line end."""
        found = _LINE_END.search(self.text, position)
        return found.start() if found else len(self.text)

    def starts_plainly(self, node: Node) -> bool:
        """Whether a pair starts its line, after list dashes at most."""
        return node.end > node.start and bool(_DASHES.fullmatch(self._before(node)))

    def block_style(self, block: MappingNode, root: MappingNode) -> Style:
        """Style of a new pair in a block mapping."""
        return Style(lead=self.newline + " " * block.pairs[0][0].column, step=self._block_step(root))

    def brace_style(self, pair: Pair, braces: MappingNode) -> Style:
        """Style of a new pair in the braces of this one."""
        key, before = pair.key, self._before(pair.key)
        colon = self.text[key.end : pair.value.start]
        return Style(
            key_quote=key.style,
            colon=colon if colon.strip(" ") == ":" else ": ",
            lead=self.newline + before if before.isspace() else "",
            step=self._brace_step(before, braces),
        )

    def _block_step(self, root: MappingNode) -> str:
        """Indentation step, as in the first block of the object."""
        outer = root.pairs[0][0].column
        inner = (value.pairs[0][0].column for _, value in root.pairs if _is_block(value))
        return next((" " * (column - outer) for column in inner if column > outer), STEP)

    def _brace_step(self, inside: str, braces: MappingNode) -> str:
        """Indentation of the braces relative to their line."""
        before = self._before(braces)
        outside = before[: len(before) - len(before.lstrip())]
        return inside.removeprefix(outside) if inside.startswith(outside) else STEP

    def _before(self, node: Node) -> str:
        return self.text[node.start - node.column : node.start]


def _is_block(node: Node) -> TypeGuard[MappingNode]:
    return isinstance(node, MappingNode) and not node.flow


class UnsafeEdit(ValueError):
    """A change would affect other places. The message has the reason."""


class Edit(NamedTuple):
    """Replacement of the text from `start` to `end`."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Text with all edits applied."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


@dataclass(frozen=True, slots=True)
class ValueWriter:
    """Sets a value in one object of a text, after the key `beside` if it is in the same mapping."""

    layout: Layout
    root: MappingNode
    value: str
    neighbor: str

    def put(self, path: Path) -> Edit:
        """Edit that sets the value at the path.

        Adds missing parents and replaces empty ones. Raises UnsafeEdit.
        """
        node, quote = self.root, ""
        for depth, key in enumerate(path):
            here, rest = ".".join(path[: depth + 1]), path[depth + 1 :]
            if node.shared:
                raise UnsafeEdit(f"the mapping of {here} is shared by a YAML anchor")
            found = node.own(key)
            if found is None:
                if rest and lookup(node, key):
                    raise UnsafeEdit(f"{here} comes from a YAML merge key")
                return self._insert(node, (key, *rest), quote)
            name, below = found
            if isinstance(below, ScalarNode) and below.is_empty:
                return self._replace(name, below, rest)
            if not isinstance(below, MappingNode):
                raise UnsafeEdit(f"{here} is not a mapping")
            node, quote = below, name.style
        raise UnsafeEdit(f"{'.'.join(path)} is not a string")

    def _replace(self, name: ScalarNode, old: ScalarNode, rest: Path) -> Edit:
        """Replace an empty value by the new value or by braces around it."""
        if old.start < name.end or old.is_block:
            raise UnsafeEdit(f"{name.text} is empty in an unsupported style")
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
            raise UnsafeEdit(f"the keys around {keys[0]} are in an unsupported style")
        style = self.layout.block_style(node, self.root)
        if pair is None:
            return Edit(first.start, first.start, style.as_block(keys, self.value) + style.lead)
        style = style._replace(value_quote=pair.quote_for(self.neighbor))
        at = self.layout.line_end(pair.value.end)
        return Edit(at, at, style.lead + style.as_block(keys, self.value))

    def _into_braces(self, node: MappingNode, keys: Path) -> Edit:
        pair = self._neighbour(node)
        if pair is None:
            raise UnsafeEdit(f"the keys around {keys[0]} are in an unsupported style")
        style = self.layout.brace_style(pair, node)
        style = style._replace(value_quote=style.key_quote or pair.quote_for(self.neighbor))
        at = pair.value.end
        return Edit(at, at, style.separator + style.in_braces(keys, self.value))

    def _neighbour(self, node: MappingNode) -> Pair | None:
        """Pair to insert after: that of `beside`, else the last one that a line can follow."""
        named = (Pair(key, value) for key, value in node.pairs if isinstance(key, ScalarNode))
        pairs = [pair for pair in named if _can_be_followed(pair, node)]
        wanted = [pair for pair in pairs if pair.key.text == self.neighbor]
        return next(reversed(wanted or pairs), None)


def _can_be_followed(pair: Pair, node: MappingNode) -> bool:
    """Whether a line can follow a pair: no alias, no `?` key, value on the same line."""
    key, value = pair
    if value.start < key.end:
        return False
    in_line = key.column == node.pairs[0][0].column and isinstance(value, ScalarNode) and not value.is_block
    return node.flow or in_line
