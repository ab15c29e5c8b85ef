"""Rule numbers: code, tests and documentation cite rules that docs/reference/semantics.md contains."""

from pathlib import Path

import pytest

from tests.contract.rules_page import (
    PAGE,
    ROOT,
    citations,
    cited_rules,
    parse_links,
    parse_rules,
    uncited_rules,
    unknown_rules,
)

TEXT = PAGE.read_text(encoding="utf-8")
RULES = parse_rules(TEXT)
MOST_UNCITED = 215
"""Implemented rules that no test cites. Lower it when a test cites another rule; never raise it."""
CITING_FILES = sorted(citations())
MADE_UP = f"R{RULES[-1].chapter + 1}.1"


@pytest.mark.parametrize("path", CITING_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_cited_number_is_a_rule(path: Path) -> None:
    assert sorted(citations()[path] - {rule.name for rule in RULES}) == []


def test_rules_ascend_and_occur_once() -> None:
    numbers = [(rule.chapter, rule.number) for rule in RULES]
    assert numbers == sorted(set(numbers))


def test_anchors_match_numbers() -> None:
    assert [r.name for r in RULES if r.anchor != f"r{r.chapter}-{r.number}"] == []


def test_links_within_the_page_lead_to_rules() -> None:
    assert sorted(parse_links(TEXT) - {rule.anchor for rule in RULES}) == []


def test_rules_are_full_sentences() -> None:
    assert [rule.name for rule in RULES if not rule.text.endswith(".")] == []


def test_rules_without_a_test_do_not_become_more() -> None:
    uncited = uncited_rules()
    assert len(uncited) <= MOST_UNCITED, f"no test cites {', '.join(uncited)}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"see {MADE_UP}", [MADE_UP]),
        (f"R1.1, {MADE_UP}a and R7.12.1", [f"{MADE_UP}a"]),
        (f"def test_made_up_{MADE_UP.lower().replace('.', '_')}() -> None:", [MADE_UP]),
        ("R4.30-R4.35, R1.18 a", []),
    ],
    ids=["in a sentence", "with a letter", "in the name of a test", "known numbers"],
)
def test_unknown_number_is_reported(text: str, expected: list[str]) -> None:
    assert unknown_rules(text, RULES) == expected


def test_numbers_in_names_of_tests_count_as_cited() -> None:
    assert cited_rules("def test_a_slot_r1_4_r1_22() -> None:") == {"R1.4", "R1.22"}


@pytest.mark.parametrize(
    "line",
    ['- <a id="r1-2"></a>R1.2 Not bold.', '- <a id="r1-2"></a>**R1.2**', '- <a id="r1-2"></a>**1.2** No R.'],
)
def test_rule_in_another_format_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_rules(line)
