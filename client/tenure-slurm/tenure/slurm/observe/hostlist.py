"""Slurm's lists of host names, such as `n[1-3,07],login`."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

MAX_HOSTS: Final = 100_000
"""Maximum number of names in one list."""
_PART: Final = re.compile(r"([^,\[\]]*)(?:\[([0-9,-]*)\]([^,\[\]]*))?(?:,|$)")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,255}")


class HostListError(ValueError):
    """A text is not a list of host names that the adapter can read."""


def expand(text: str) -> list[str]:
    """The names of a list, in order; none for "". Raises HostListError.

    One range in brackets per name is read; names with several, as of a torus, are not.
    """
    names: list[str] = []
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or part.end() == position:
            raise HostListError(f"not a list of host names: {text[:100]!r}")
        prefix, ranges, suffix = part.groups()
        names += [prefix] if ranges is None else [f"{prefix}{n}{suffix}" for n in _numbers(ranges)]
        if len(names) > MAX_HOSTS:
            raise HostListError(f"more than {MAX_HOSTS} host names")
        position = part.end()
    if not all(map(_NAME.fullmatch, names)):
        raise HostListError(f"not a list of host names: {text[:100]!r}")
    return names


def join(names: Iterable[str]) -> str:
    """The list of these names, without brackets."""
    return ",".join(names)


def _numbers(ranges: str) -> Iterator[str]:
    count = 0
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise HostListError(f"not a range of numbers: {part[:100]!r}")
        begin, end = int(first), int(last or first)
        count += max(end - begin, 0)
        if count > MAX_HOSTS:
            raise HostListError(f"more than {MAX_HOSTS} host names")
        yield from (str(number).zfill(len(first)) for number in range(begin, end + 1))
