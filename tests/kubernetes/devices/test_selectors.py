"""CEL selectors of devices, and what is refused before it runs."""

import msgspec
import pytest
from tenure.kubernetes.devices.selectors import (
    MAX_LENGTH,
    SelectorEvaluator,
    content_of,
    selector_problem,
)
from tenure.kubernetes.objects.device_claims import CelSelector, DeviceSelector
from tenure.kubernetes.objects.devices import Device

DEVICE = msgspec.convert(
    {
        "name": "d0",
        "attributes": {
            "model": {"string": "A100"},
            "index": {"int": 3},
            "healthy": {"bool": True},
            "other.io/firmware": {"version": "1.2.3-rc.1"},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    },
    type=Device,
)
CONTENT = content_of("gpu.io", DEVICE)


def problem(expression: str) -> str:
    return selector_problem([DeviceSelector(CelSelector(expression))])


def refusal(expression: str) -> str:
    assert problem(expression) == ""
    return SelectorEvaluator().refusal(expression, CONTENT)


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver == 'gpu.io'",
        "device.attributes['gpu.io'].model == 'A100' && device.attributes['gpu.io'].index >= 3",
        "device.attributes['gpu.io'].healthy",
        "device.attributes['gpu.io'].model in ['A100', 'H100']",
        "device.attributes['gpu.io'].model.lowerAscii().startsWith('a')",
        "device.attributes['gpu.io'].model.matches('^A[0-9]+$')",
        "'gpu.io' in device.attributes",
        "!has(device.attributes['absent.io'].model)",
        "!('model' in device.attributes['absent.io'])",
        "device.capacity['gpu.io'].memory.compareTo(quantity('40Gi')) == 0",
        "device.capacity['gpu.io'].memory.isGreaterThan(quantity('39.5Gi'))",
        "device.attributes['other.io'].firmware.isLessThan(semver('1.2.3'))",
        "device.attributes['other.io'].firmware.isGreaterThan(semver('1.2.3-beta.9'))",
        "device.attributes['other.io'].firmware.major() == 1",
    ],
)
def test_expression_selects_the_device(expression: str) -> None:
    assert refusal(expression) == ""


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("device.driver == 'other'", "it is false"),
        ("device.attributes['gpu.io'].absent == 'A100'", "it fails: "),
        ("device.attributes['gpu.io'].index", "its result is not true or false"),
        ("device.attributes['gpu.io'].index / 0 == 1", "it fails: "),
        ("device.capacity['gpu.io'].memory.isGreaterThan(quantity('much'))", "it fails: "),
        ("device.capacity['gpu.io'].memory.compareTo(semver('1.0.0')) == 0", "it fails: "),
        ("unknown(1)", "it fails: "),
    ],
)
def test_expression_does_not_select_the_device(expression: str, reason: str) -> None:
    assert refusal(expression).startswith(reason)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("[1, 2].all(x, [1, 2].all(y, x > y))", "cel.expression has all(), which is not supported"),
        ("[1].map (x, device).size() > 0", "cel.expression has map(), which is not supported"),
        ("cel.bind(a, 1, a == 1)", "cel.expression has bind(), which is not supported"),
        ("true // all", "cel.expression has a comment, or '//', which is not supported"),
        ("||".join(["'a'.matches('a')"] * 5), "cel.expression has more than 4 patterns"),
        ("device.attributes[?'gpu.io'].model == ''", "cel.expression: "),
        ("(" * 1_000 + "true" + ")" * 1_000, "cel.expression: "),
        ("true ?", "cel.expression: "),
    ],
)
def test_expression_is_refused_before_it_runs(expression: str, reason: str) -> None:
    assert problem(expression).startswith(f"selectors[0].{reason}")


def test_long_selectors_are_refused_together() -> None:
    half = DeviceSelector(CelSelector("true" + " " * (MAX_LENGTH // 2)))
    assert selector_problem([half]) == ""
    long = "selectors have more than 2,048 characters together, which is not supported"
    assert selector_problem([half, half]) == long


def test_selector_of_another_kind_is_refused() -> None:
    found = selector_problem([DeviceSelector()])
    assert found == "selectors[0].cel is missing: other kinds of selectors are not supported"


@pytest.mark.parametrize("unit", ["!", "false||", "1+1>0&&", "true?true:", "device.driver=='a'||"])
def test_deep_expression_ends(unit: str) -> None:
    expression = unit * ((MAX_LENGTH - 4) // len(unit)) + "true"
    assert problem(expression) or refusal(expression) in ("", "it is false")


def test_expression_is_evaluated_once_for_each_content() -> None:
    evaluator = SelectorEvaluator()
    for _ in range(3):
        evaluator.refusal("device.driver == 'gpu.io'", CONTENT)
    assert evaluator.count == 1
    evaluator.keep(set(), {CONTENT})
    evaluator.refusal("device.driver == 'gpu.io'", CONTENT)
    assert evaluator.count == 2
