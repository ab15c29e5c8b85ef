"""CEL selectors of devices, evaluated once for each expression and content of a device.

Tenants write selectors, so their work is bounded before they run: by their length, without macros, which are
the only loops of CEL, and with few patterns. What is left takes a few milliseconds at most. An expression
that fails for a device does not select it: kube-scheduler excludes the whole node.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import cel
import msgspec
from tenure.kubernetes.objects.device_claims import DeviceSelector
from tenure.kubernetes.objects.devices import Device, DeviceAttribute
from tenure.kubernetes.objects.resource_amounts import InvalidQuantity, quantity

MAX_LENGTH: Final = 2_048
"""Maximum length of the expressions of a class or of a request."""
MAX_PATTERNS: Final = 4
MAX_SELECTORS: Final = 32
"""Maximum number of selectors of a class or of a request, as in the API."""
_MACROS: Final = re.compile(
    r"\b(all|exists|exists_one|existsOne|map|filter|transformList|transformMap|transformMapEntry|bind)\s*\(",
    re.ASCII,
)
_PATTERNS: Final = re.compile(r"\b(matches|find|findAll|replace|split)\b", re.ASCII)
_COMMENT: Final = "//"
_DOMAIN: Final = re.compile(r"""\b(?:attributes|capacity)\s*\[\s*(?:'([^'"\\]*)'|"([^'"\\]*)")\s*\]""")
_VERSION: Final = re.compile(
    r"(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)
_AMOUNT, _SEMVER = "quantity", "semver"
_NANO: Final = 10**9
_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode

Value = dict[str, str]
"""A quantity or a version, as CEL has no such types."""


class InvalidSelector(Exception):
    """A selector that is not supported, or not valid."""


def selector_problem(selectors: Sequence[DeviceSelector]) -> str:
    """Why selectors cannot be evaluated, beginning with their field; "": they can."""
    if len(selectors) > MAX_SELECTORS:
        return f"selectors: more than {MAX_SELECTORS}"
    if length_of(selectors) > MAX_LENGTH:
        return f"selectors have more than {MAX_LENGTH:,} characters together, which is not supported"
    for at, selector in enumerate(selectors):
        try:
            expression_of(selector)
        except InvalidSelector as problem:
            return f"selectors[{at}].{problem}"
    return ""


def length_of(selectors: Sequence[DeviceSelector]) -> int:
    """Length of all expressions together."""
    return sum(len(one.cel.expression) for one in selectors if one.cel is not None)


def expression_of(selector: DeviceSelector) -> str:
    """The expression of a selector. Raises InvalidSelector."""
    if selector.cel is None:
        raise InvalidSelector("cel is missing: other kinds of selectors are not supported")
    text = selector.cel.expression
    if _COMMENT in text:
        raise InvalidSelector("cel.expression has a comment, or '//', which is not supported")
    if found := _MACROS.search(text):
        raise InvalidSelector(f"cel.expression has {found[1]}(), which is not supported")
    if len(_PATTERNS.findall(text)) > MAX_PATTERNS:
        raise InvalidSelector(f"cel.expression has more than {MAX_PATTERNS} patterns, which is not supported")
    if isinstance(compiled := _compile(text), str):
        raise InvalidSelector(f"cel.expression: {compiled}")
    return text


class SelectorEvaluator:
    """Results by expression and content of a device.

    `count` is the number of evaluations so far, `cost` the characters of their expressions.
    """

    def __init__(self) -> None:
        self._results: dict[str, dict[bytes, str]] = {}
        self.count = self.cost = 0

    def keep(self, expressions: set[str], contents: set[bytes]) -> None:
        """Forget other expressions, and other contents when there are many of them."""
        for text in self._results.keys() - expressions:
            del self._results[text]
        for results in self._results.values():
            if len(results) > 2 * len(contents):
                for content in results.keys() - contents:
                    del results[content]

    def refusal(self, expression: str, content: bytes) -> str:
        """Why an expression does not select a device with this content; "": it does."""
        results = self._results.setdefault(expression, {})
        found = results.get(content)
        if found is None:
            self.count += 1
            self.cost += len(expression)
            found = results[content] = _evaluate(expression, content)
        return found


def content_of(driver: str, device: Device) -> bytes:
    """All that a selector can see of a device."""
    attributes: dict[str, dict[str, Any]] = {}
    for name, attribute in device.attributes.items():
        domain, key = qualified(name, driver)
        if (value := _value(attribute)) is not None:
            attributes.setdefault(domain, {})[key] = value
    capacity: dict[str, dict[str, Any]] = {}
    for name, amount in device.capacity.items():
        domain, key = qualified(name, driver)
        try:
            capacity.setdefault(domain, {})[key] = _quantity(amount.value)
        except (InvalidQuantity, ValueError):
            continue
    return _ENCODE({"driver": driver, "attributes": attributes, "capacity": capacity})


def qualified(name: str, driver: str) -> tuple[str, str]:
    """Domain and identifier of an attribute; without a domain it is the one of the driver."""
    domain, slash, key = name.rpartition("/")
    return (domain, key) if slash else (driver, name)


def _value(attribute: DeviceAttribute) -> Any:
    """The value of an attribute; None: of a kind that is not known."""
    if attribute.version is not None:
        return {_SEMVER: attribute.version} if _VERSION.fullmatch(attribute.version) else None
    for value in (attribute.whole, attribute.flag, attribute.text):
        if value is not None:
            return value
    return None


@lru_cache(maxsize=1_024)
def _compile(expression: str) -> "cel.Program | str":
    """The program of an expression, or why it has none."""
    try:
        return cel.compile(expression)
    except Exception as error:  # whatever a library says about a text of a tenant
        return _first_line(error)


def _evaluate(expression: str, content: bytes) -> str:
    program = _compile(expression)
    if isinstance(program, str):
        return program
    device = msgspec.json.decode(content)
    for kind in ("attributes", "capacity"):
        for domain in _domains(expression):
            device[kind].setdefault(domain, {})
    device["allowMultipleAllocations"] = False
    context = cel.Context(variables={"device": device}, functions=dict(_FUNCTIONS))
    try:
        result = program.execute(context)
    except Exception as error:  # whatever a library says about an expression of a tenant
        return f"it fails: {_first_line(error)}"
    if result is True:
        return ""
    return "it is false" if result is False else "its result is not true or false"


@lru_cache(maxsize=1_024)
def _domains(expression: str) -> tuple[str, ...]:
    """Domains that an expression names. A device has all of them: those without attributes are empty."""
    return tuple(sorted({one or other for one, other in _DOMAIN.findall(expression)}))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__


def _quantity(text: str) -> Value:
    return {_AMOUNT: str(quantity(text, _NANO))}


def _semver(text: str) -> Value:
    if not _VERSION.fullmatch(text):
        raise ValueError(f"{text[:64]!r} is not a version")
    return {_SEMVER: text}


def _order(one: Mapping[str, str]) -> Any:
    """A key that sorts quantities, or versions by the rules of semver.org."""
    if _AMOUNT in one:
        return int(one[_AMOUNT])
    found = _VERSION.fullmatch(one[_SEMVER])
    if found is None:
        raise ValueError("it is not a version")
    parts = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in (found[4] or "").split(".")]
    return (int(found[1]), int(found[2]), int(found[3]), not found[4] or False, parts if found[4] else [])


def _compare(one: Value, other: Value) -> int:
    if one.keys() != other.keys():
        raise ValueError("both must be quantities, or versions")
    left, right = _order(one), _order(other)
    return int(left > right) - int(left < right)


def _part(at: int) -> Any:
    return lambda one: int(_order(one)[at])


_FUNCTIONS: Final[Mapping[str, Any]] = {
    "quantity": _quantity,
    "semver": _semver,
    "compareTo": _compare,
    "isGreaterThan": lambda one, other: _compare(one, other) > 0,
    "isLessThan": lambda one, other: _compare(one, other) < 0,
    "major": _part(0),
    "minor": _part(1),
    "patch": _part(2),
    "lowerAscii": lambda text: text.lower() if text.isascii() else text,
    "upperAscii": lambda text: text.upper() if text.isascii() else text,
}
"""Functions of Kubernetes that CEL itself does not have. Others are errors, and select nothing."""
