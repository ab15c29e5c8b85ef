"""Amounts of CPU and memory, as CSV files of jobs and of nodes write them."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final

CORE: Final = 1000
MIB: Final = 1 << 20
GIB: Final = 1 << 30
_MAX_DECIMAL: Final = 10**6
"""Most cores and GiB of a pod or a node."""
_MAX_WHOLE: Final = 10**9
"""Most milli-cores and MiB of a pod or a node."""


def request(text: str, column: str, unit: int) -> int:
    """A decimal amount of a unit, such as cores; rounded up: nothing becomes free. Raises ValueError."""
    return int(_scaled(text, column, unit).to_integral_value(ROUND_CEILING))


def capacity(text: str, column: str, unit: int) -> int:
    """A decimal amount of a unit, such as cores; rounded down: nothing is added. Raises ValueError."""
    return int(_scaled(text, column, unit).to_integral_value(ROUND_FLOOR))


def whole_amount(text: str, column: str) -> int:
    """A whole number of milli-cores or MiB. Raises ValueError."""
    stripped = text.strip()
    if not stripped.isascii() or not stripped.isdigit() or int(stripped[:20]) > _MAX_WHOLE:
        raise ValueError(f"{column} {text!r} is not a whole number up to {_MAX_WHOLE}")
    return int(stripped)


def number(text: str, column: str) -> Decimal:
    """A finite decimal number. Raises ValueError."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        value = Decimal("NaN")
    if not value.is_finite():
        raise ValueError(f"{column} {text!r} is not a number")
    return value


def _scaled(text: str, column: str, unit: int) -> Decimal:
    value = number(text, column)
    if not 0 <= value <= _MAX_DECIMAL:
        raise ValueError(f"{column} {text!r} is not from 0 to {_MAX_DECIMAL}")
    return value * unit
