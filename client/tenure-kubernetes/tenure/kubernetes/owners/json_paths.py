"""Paths into owners: JSONPath (RFC 9535), read by a library.

A path begins with `$`, the owner, or with `@`, an element that another path selected. Three parts of the
standard are excluded, because users write the objects: `..` would search all of an object, and the functions
`match` and `search` could take very long.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, Final, NamedTuple

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from jsonpath.segments import JSONPathRecursiveDescentSegment
from pydantic import BeforeValidator

MAX_SELECTED: Final = 10_000
"""Most elements that are read from what a path selects."""
_MAX_LENGTH: Final = 1_000
_ENVIRONMENT: Final = JSONPathEnvironment(strict=True)
for _name in ("match", "search"):
    _ENVIRONMENT.function_extensions.pop(_name)


class Element(NamedTuple):
    """Something that a path selects."""

    key: str
    """The last key of the path to it; "" of an item of a list."""
    value: Any


class ObjectPath:
    """A compiled path."""

    def __init__(self, text: str) -> None:
        """Raises ValueError with the position of the error."""
        self.text = text
        self.is_of_element = text.startswith("@")
        if not text.startswith(("$", "@")):
            raise ValueError(f"{text[:80]!r} is not a path: it must begin with $, or with @ in a role")
        if len(text) > _MAX_LENGTH:
            raise ValueError(f"a path must be at most {_MAX_LENGTH:,} characters")
        try:
            compiled = _ENVIRONMENT.compile(f"${text[1:]}")
        except (JSONPathError, ValueError, RecursionError) as error:
            raise ValueError(f"{text[:80]!r} is not a path (RFC 9535): {_reason(error)}") from None
        if not isinstance(compiled, JSONPath) or any(
            isinstance(segment, JSONPathRecursiveDescentSegment) for segment in compiled.segments
        ):
            raise ValueError(f"{text[:80]!r}: name every step of the path; `..` is not supported")
        self._compiled = compiled

    def select(self, owner: object, element: object) -> Iterator[Element]:
        """What the path selects in an owner, or in an element of it."""
        root = element if self.is_of_element else owner
        try:
            for found in islice(self._compiled.finditer(root), MAX_SELECTED):  # type: ignore[arg-type]
                key = found.parts[-1] if found.parts else ""
                yield Element(key if isinstance(key, str) else "", found.value)
        except (JSONPathError, TypeError, RecursionError):
            return  # the object has another form

    def first(self, owner: object, element: object) -> Any:
        """The first value that the path selects; None: none, or null."""
        return next((found.value for found in self.select(owner, element)), None)


@lru_cache(maxsize=1_000)
def path_of(text: str) -> ObjectPath:
    """The compiled path. Raises ValueError."""
    return ObjectPath(text)


def _reason(error: Exception) -> str:
    """What is wrong, and where. The library's own text spans several lines."""
    text = str(error.args[0]) if error.args else type(error).__name__
    index = getattr(getattr(error, "token", None), "index", None)
    return f"{text}, at character {index + 1}" if isinstance(index, int) and index >= 0 else text


def _compile(value: object) -> object:
    if isinstance(value, str):
        return path_of(value)
    raise ValueError("must be a path such as $.spec.replicas")


def _compile_all(value: object) -> object:
    return [value] if isinstance(value, str) else value


Path = Annotated[ObjectPath, BeforeValidator(_compile)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(_compile_all)]
"""Paths in order; the first that selects something counts. A file may also have a single path."""
