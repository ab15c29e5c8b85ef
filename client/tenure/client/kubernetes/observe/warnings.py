"""What could not be taken as it was written: told once for each object and reason."""

from typing import NamedTuple


class Warned(NamedTuple):
    """One doubtful thing. Both texts are for people."""

    subject: str
    """What it is about: kind, namespace and name."""
    text: str


class Warnings:
    """Collects doubts about objects, by uid. What is noted again is not told again, until it is settled."""

    def __init__(self) -> None:
        self._noted: dict[str, dict[str, Warned]] = {}
        self._fresh: list[Warned] = []

    def settle(self, key: str, subject: str, texts: list[str]) -> None:
        """These are all doubts about one object as it is now."""
        before = self._noted.get(key, {})
        now = {text: Warned(subject, text) for text in texts}
        self._fresh.extend(warned for text, warned in now.items() if text not in before)
        if now:
            self._noted[key] = now
        else:
            self._noted.pop(key, None)

    def take(self) -> list[Warned]:
        """What is new since this was called last."""
        fresh, self._fresh = self._fresh, []
        return fresh

    @property
    def open(self) -> list[Warned]:
        """All that are still true."""
        return [warned for texts in self._noted.values() for warned in texts.values()]
