"""The remaining failures are exactly the failures that the README explains."""

import re
from pathlib import Path

from tests.conformance.cases import Case, load_cases
from tests.conformance.command import CHECKOUT, DEFAULT_CASES
from tests.conformance.plain_cases import plain_cases
from tests.conformance.results import CaseVerdict
from tests.conformance.runner import run_case

README = Path(__file__).with_name("README.md")
FOLDER = CHECKOUT / DEFAULT_CASES


def explained_failures() -> set[str]:
    """Case ids in the table of remaining failures."""
    section = README.read_text().partition("## Remaining failures")[2]
    return set(re.findall(r"`([\w/.-]+#\d+)`", section))


def cases() -> list[Case]:
    """The reference's cases if they are next to the checkout, otherwise the small cases of this project."""
    return load_cases(FOLDER) if FOLDER.is_dir() else list(plain_cases())


def test_the_readme_explains_exactly_the_failures_that_remain() -> None:
    chosen = [case for case in cases() if "evicted_after_placement" not in case.tags]
    failed = {case.id for case in chosen if run_case(case).verdict is CaseVerdict.FAILED}
    present = {case.id for case in chosen}
    assert failed == explained_failures() & present
