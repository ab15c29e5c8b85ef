"""Generated modules match the field table. After changing the table, run `make proto`."""

import pytest
from tenure.wire.generate import CLASSES, ROOT, generate
from tenure.wire.schema import ROWS

_ROWS = {row.descriptor.name: row for row in ROWS}


@pytest.mark.interpreted
def test_generated_modules_are_up_to_date() -> None:
    generated = generate()
    stored = {path: (ROOT / path).read_text(encoding="utf-8") for path in generated}
    assert stored == generated, "run make proto"


@pytest.mark.parametrize("facts", CLASSES, ids=lambda facts: facts.name)
def test_no_fact_is_declared_twice(facts) -> None:
    names = [field.into for field in _ROWS[facts.message].fields if field.fact]
    names += [attribute.name for attribute in facts.by_hand]
    assert sorted(names) == sorted(set(names))


def test_facts_are_declared_for_messages_with_a_class_of_facts_only() -> None:
    messages = {facts.message for facts in CLASSES}
    assert [
        f"{name}.{field.name}"
        for name, row in _ROWS.items()
        for field in row.fields
        if name not in messages and (field.fact or field.is_common)
    ] == []
