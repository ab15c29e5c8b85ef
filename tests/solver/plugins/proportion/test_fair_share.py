"""Division of one resource among sibling queues."""

import pytest
from tenure.solver.plugins.proportion.fair_share import ShareRequest, divide, divide_over_quota, give_quotas


def claim(
    request: float,
    quota: float = 0,
    weight: float = 1,
    limit: float = -1,
    priority: int = 100,
    usage: float = 0,
) -> ShareRequest:
    return ShareRequest((), priority, quota, limit, weight, request, usage)


def divide_total(total: float, *claims: ShareRequest, k: float = 1) -> list[float]:
    for number, each in enumerate(claims):
        each.rank = (number,)
    divide(total, claims, k)
    return [each.fair_share for each in claims]


WORKED_EXAMPLES = {
    "R4.17 a high remainder is offered to lower priorities first": (
        (3, claim(2, priority=200), claim(2, priority=200), claim(1)),
        [1, 1, 1],
    ),
    "R4.20 an idle queue has no share": ((8, claim(0, quota=4)), [0]),
    "R4.21 quota, weight and remainder": ((8, claim(8, 2, 2), claim(8, 2, 1)), [5, 3]),
    "R4.22 what one does not want the other gets": ((6, claim(1), claim(9)), [1, 5]),
    "R4.23 quotas that oversubscribe are not scaled": ((4, claim(4, 4), claim(4, 4)), [4, 4]),
}
RULES = {
    "R4.10 a limit caps the request": ((8, claim(8, limit=3), claim(8)), [3, 5]),
    "R4.10 a limit caps the quota": ((8, claim(8, quota=6, limit=3)), [3]),
    "R4.11 quota is given as far as it is asked for": ((8, claim(1, 4), claim(8, 4)), [1, 7]),
    "R4.11 an unlimited quota is the whole amount": ((8, claim(6, quota=-1), claim(8, quota=2)), [6, 2]),
    "R4.11 nothing is left when quotas exceed the total": ((4, claim(4, 3), claim(4, 3)), [3, 3]),
    "R4.12 higher queue priorities go first": ((4, claim(4), claim(3, priority=200)), [1, 3]),
    "R4.12 a lower priority gets what is left only": ((2, claim(4), claim(3, priority=200)), [0, 2]),
    "R4.13 weights divide what is beyond quotas": ((9, claim(9, weight=2), claim(9)), [6, 3]),
    "R4.13 no weight, nothing beyond the quota": ((8, claim(8, 2, weight=0), claim(8, 2)), [2, 6]),
    "R4.13 all weights zero: the rest is for nobody": ((8, claim(8, 2, 0), claim(8, 2, 0)), [2, 2]),
    "R4.13 those who want no more drop out": ((9, claim(1), claim(2), claim(9)), [1, 2, 6]),
    "R4.13 another round only if somebody wanted less": ((5, claim(2.5), claim(9)), [2.5, 2.5]),
    "R4.15 shares are whole units": ((3, claim(3), claim(3), claim(3, weight=0)), [2, 1, 0]),
    "R4.16 the largest remainder first": ((2, claim(2), claim(2, weight=2)), [1, 1]),
    "R4.16 equal remainders: the elder first": ((1, claim(1), claim(1)), [1, 0]),
    "R4.16 one unit each, once": ((5, claim(9), claim(9), claim(9)), [2, 2, 1]),
    "R4.16 at most what is left": ((1.5, claim(9), claim(9)), [1, 0.5]),
    "R4.18 who gets all it asks for keeps no remainder": ((4, claim(1), claim(1.5), claim(9)), [1, 1.5, 1.5]),
    "R4.19 a lone weight of -1 counts as a whole": ((5, claim(9, weight=-1)), [5]),
}


@pytest.mark.parametrize(("given", "expected"), WORKED_EXAMPLES.values(), ids=WORKED_EXAMPLES)
def test_worked_examples(given: tuple[float, ...], expected: list[float]) -> None:
    assert divide_total(*given) == expected


@pytest.mark.parametrize(("given", "expected"), RULES.values(), ids=RULES)
def test_resource_is_divided_by_the_rules(given: tuple[float, ...], expected: list[float]) -> None:
    assert divide_total(*given) == expected


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1, [2, 4]), (0, [3, 3]), (-5, [3, 3]), (3, [1, 5])],
    ids=["as heavy as the weight", "off", "negative is off", "heavier"],
)
def test_past_usage_lowers_the_share_by_k_r4_14(k: float, expected: list[float]) -> None:
    assert divide_total(6, claim(9, usage=0.5), claim(9), k=k) == expected


def test_quotas_are_summed_for_the_caller_r4_11() -> None:
    assert give_quotas(8, [claim(8, 2), claim(1, 4), claim(5, -1)]) == 2 + 1 + 5


@pytest.mark.parametrize(("amount", "left"), [(-2, 0), (0, 0), (3, 1)])
def test_remainder_is_never_negative_r4_11(amount: float, left: float) -> None:
    assert divide_over_quota(amount, [claim(2)]) == left
