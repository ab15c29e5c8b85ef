"""The page of the adapter names tests that exist."""

import re

from tests.kubernetes.environment.binaries import ROOT

E2E_TESTS = ROOT / "tests/e2e/kubernetes"
NAMED_TESTS = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (ROOT / "docs/kubernetes.md").read_text())


def test_every_test_named_on_the_page_exists() -> None:
    missing = [name for file, name in NAMED_TESTS if f"def {name}(" not in (E2E_TESTS / file).read_text()]
    assert len(NAMED_TESTS) > 10
    assert missing == []
