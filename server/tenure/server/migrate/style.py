"""How a key with its value is written: in braces or as a block, quoted or not, on one line or several."""

from typing import NamedTuple

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
