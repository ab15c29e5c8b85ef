"""What a text shows of how it is written: indentation, line ends, quotes."""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeGuard

from tenure.server.migrate.nodes import Mapping, Node, Scalar
from tenure.server.migrate.style import STEP, Style

_NEWLINE: Final = re.compile(r"\r\n|\n|\r")
_LINE_END: Final = re.compile(r"[\r\n\x85\u2028\u2029]")
"""What ends a line for a YAML parser."""
_DASHES: Final = re.compile(r"[ -]*")
"""What may stand before the first key of a block: the dashes of the lists that it is an item of."""


class Pair(NamedTuple):
    """A key and its value in a mapping."""

    key: Scalar
    value: Node

    def quote_for(self, beside: str) -> str:
        """The quote of its value, when it is the pair that the new one is to be like."""
        return self.value.style if self.key.text == beside and isinstance(self.value, Scalar) else ""


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

    def block_style(self, block: Mapping, root: Mapping) -> Style:
        """How a further pair is written in a block of the object."""
        return Style(lead=self.newline + " " * block.pairs[0][0].column, step=self._block_step(root))

    def brace_style(self, pair: Pair, braces: Mapping) -> Style:
        """How a further pair is written in the braces in which this one is."""
        key, before = pair.key, self._before(pair.key)
        colon = self.text[key.end : pair.value.start]
        return Style(
            key_quote=key.style,
            colon=colon if colon.strip(" ") == ":" else ": ",
            lead=self.newline + before if before.isspace() else "",
            step=self._brace_step(before, braces),
        )

    def _block_step(self, root: Mapping) -> str:
        """By how much the object indents what is inside, as the first block inside shows."""
        outer = root.pairs[0][0].column
        inner = (value.pairs[0][0].column for _, value in root.pairs if _is_block(value))
        return next((" " * (column - outer) for column in inner if column > outer), STEP)

    def _brace_step(self, inside: str, braces: Mapping) -> str:
        """By how much the braces indent what is inside, against the line on which they open."""
        opening = self._before(braces)
        outside = opening[: len(opening) - len(opening.lstrip())]
        return inside.removeprefix(outside) if inside.startswith(outside) else STEP

    def _before(self, node: Node) -> str:
        return self.text[node.start - node.column : node.start]


def _is_block(node: Node) -> TypeGuard[Mapping]:
    return isinstance(node, Mapping) and not node.flow
