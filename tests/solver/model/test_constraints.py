"""Selectors, affinity and taints follow the semantics of Kubernetes."""

import pytest
from tenure.solver.model.constraints import Constraints, Operator, Requirement, Taint, TaintEffect, Toleration

LABELS = {
    "zone": "a",
    "gpus": "8",
    "empty": "",
    "two signs": "--5",
    "superscript": "\u00b2",
    "no 64 bits": "9" * 19,
    "endless": "9" * 5000,
}
NO_SCHEDULE, NO_EXECUTE = TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE

REQUIREMENTS = {
    "in": (("zone", Operator.IN, ("b", "a")), True),
    "in, another value": (("zone", Operator.IN, ("b",)), False),
    "in, no label": (("rack", Operator.IN, ("a",)), False),
    "not in": (("zone", Operator.NOT_IN, ("b",)), True),
    "not in, this value": (("zone", Operator.NOT_IN, ("a",)), False),
    "not in, no label": (("rack", Operator.NOT_IN, ("a",)), True),
    "exists": (("empty", Operator.EXISTS, ()), True),
    "exists, no label": (("rack", Operator.EXISTS, ()), False),
    "does not exist": (("rack", Operator.DOES_NOT_EXIST, ()), True),
    "does not exist, a label": (("empty", Operator.DOES_NOT_EXIST, ()), False),
    "greater": (("gpus", Operator.GREATER_THAN, ("7",)), True),
    "greater, equal": (("gpus", Operator.GREATER_THAN, ("8",)), False),
    "greater, no number": (("zone", Operator.GREATER_THAN, ("-9",)), False),
    "greater, no label": (("rack", Operator.GREATER_THAN, ("-9",)), False),
    "greater, two signs": (("two signs", Operator.GREATER_THAN, ("-9",)), False),
    "greater, a digit that is not ASCII": (("superscript", Operator.GREATER_THAN, ("-9",)), False),
    "greater, more than 64 bits": (("no 64 bits", Operator.GREATER_THAN, ("-9",)), False),
    "greater, more digits than anybody reads": (("endless", Operator.GREATER_THAN, ("-9",)), False),
    "less": (("gpus", Operator.LESS_THAN, ("10",)), True),
    "less, equal": (("gpus", Operator.LESS_THAN, ("8",)), False),
}


@pytest.mark.parametrize(("requirement", "expected"), REQUIREMENTS.values(), ids=REQUIREMENTS)
def test_requirement(requirement: tuple[str, Operator, tuple[str, ...]], expected: bool) -> None:
    assert Requirement(*requirement).matches(LABELS) is expected


ZONE_A, ZONE_B = (Requirement("zone", Operator.IN, (zone,)) for zone in "ab")
HAS_GPUS = Requirement("gpus", Operator.EXISTS, ())
SELECTIONS = {
    "nothing asked": (Constraints(), True),
    "selector": (Constraints(node_selector=(("zone", "a"),)), True),
    "every label of the selector": (Constraints(node_selector=(("zone", "a"), ("gpus", "4"))), False),
    "any term": (Constraints(node_affinity=((ZONE_B,), (ZONE_A,))), True),
    "no term": (Constraints(node_affinity=((ZONE_B,),)), False),
    "every requirement of a term": (Constraints(node_affinity=((ZONE_B, HAS_GPUS),)), False),
    "an empty term matches nothing": (Constraints(node_affinity=((),)), False),
    "selector and affinity": (Constraints((("zone", "b"),), ((ZONE_A,),)), False),
}


@pytest.mark.parametrize(("constraints", "expected"), SELECTIONS.values(), ids=SELECTIONS)
def test_selection(constraints: Constraints, expected: bool) -> None:
    assert constraints.selects(LABELS) is expected


TOLERATIONS = {
    "key, value and effect": (Toleration("k", False, "v", NO_SCHEDULE), True),
    "any effect": (Toleration("k", False, "v", TaintEffect.ANY), True),
    "another effect": (Toleration("k", False, "v", NO_EXECUTE), False),
    "another value": (Toleration("k", False, "w", TaintEffect.ANY), False),
    "whatever value": (Toleration("k", True, "", TaintEffect.ANY), True),
    "another key": (Toleration("j", True, "", TaintEffect.ANY), False),
    "every taint": (Toleration("", True, "", TaintEffect.ANY), True),
    "no key needs exists": (Toleration("", False, "v", TaintEffect.ANY), False),
}


@pytest.mark.parametrize(("toleration", "expected"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_toleration(toleration: Toleration, expected: bool) -> None:
    assert toleration.tolerates(Taint("k", "v", NO_SCHEDULE)) is expected


def test_first_untolerated_taint_is_returned() -> None:
    taints = (Taint("a", "", NO_SCHEDULE), Taint("b", "", NO_EXECUTE), Taint("c", "", NO_SCHEDULE))
    assert (
        Constraints(tolerations=(Toleration("a", True, "", TaintEffect.ANY),)).untolerated(taints)
        == taints[1]
    )


def test_prefer_no_schedule_taint_does_not_exclude() -> None:
    assert Constraints().untolerated((Taint("a", "", TaintEffect.PREFER_NO_SCHEDULE),)) is None
