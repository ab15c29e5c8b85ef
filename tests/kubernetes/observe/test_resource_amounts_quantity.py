"""Kubernetes quantities are converted to exact integers, rounded up."""

import pytest
from tenure.kubernetes.objects.resource_amounts import InvalidQuantity, quantity


@pytest.mark.parametrize(
    ("text", "per_unit", "amount"),
    [
        ("0", 1, 0),
        ("1", 1000, 1000),
        ("250m", 1000, 250),
        ("0.1", 1000, 100),
        (".5", 1000, 500),
        ("1.", 1, 1),
        ("100n", 1000, 1),
        ("1u", 1000, 1),
        ("4Gi", 1, 4 * 2**30),
        ("1.5Gi", 1, 3 * 2**29),
        ("12Ki", 1, 12 * 2**10),
        ("2M", 1, 2_000_000),
        ("1k", 1, 1000),
        ("1E", 1, 10**18),
        ("1Ei", 1, 2**60),
        ("1e3", 1, 1000),
        ("1E3", 1, 1000),
        ("12e-1", 10, 12),
        ("-1", 1, -1),
        ("+3", 1, 3),
    ],
)
def test_amounts_are_exact_and_rounded_up(text: str, per_unit: int, amount: int) -> None:
    assert quantity(text, per_unit) == amount


@pytest.mark.parametrize(
    "text",
    ["", " ", "1 Gi", "Gi", "1gi", "1KI", "1mm", "0x10", "1e", "NaN", "inf", "1e999", "9" * 65, "\u0661"],
)
def test_invalid_quantities_are_rejected(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        quantity(text)
