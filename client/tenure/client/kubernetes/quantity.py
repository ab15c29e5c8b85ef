"""Kubernetes quantities ("250m", "4Gi", "1e3") as exact integers."""

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Final

_FORM: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([eE][+-]?\d+|[a-zA-Z]{0,2})", re.ASCII)
_SUFFIXES: Final[dict[str, Decimal]] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}
_MOST_DIGITS: Final = 64
"""Longer texts are no amounts that anybody means."""


class InvalidQuantity(ValueError):
    """A text that is no quantity."""


@lru_cache(maxsize=4096)
def quantity(text: str, per_unit: int = 1) -> int:
    """The amount in `1/per_unit`, rounded up as Kubernetes does: `quantity("0.1", 1000)` is 100.

    Raises InvalidQuantity.
    """
    found = _FORM.fullmatch(text) if len(text) <= _MOST_DIGITS else None
    if found is None:
        raise InvalidQuantity(f"{text[:_MOST_DIGITS]!r} is no quantity")
    number, suffix = found.groups()
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        exponent = int(suffix[1:])
        if abs(exponent) > _MOST_DIGITS:
            raise InvalidQuantity(f"{text!r} is no quantity")
        scale = Decimal(10) ** exponent
    elif suffix in _SUFFIXES:
        scale = _SUFFIXES[suffix]
    else:
        raise InvalidQuantity(f"{text!r} ends in {suffix!r}, which is no unit")
    return int((Decimal(number) * scale * per_unit).to_integral_value(ROUND_CEILING))
