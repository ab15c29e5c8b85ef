"""The page of the adapter names tests that exist."""

import re

from tests.kube.binaries import ROOT

STORIES = ROOT / "tests/e2e/kube"
NAMED = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (ROOT / "docs/kubernetes.md").read_text())


def test_every_story_that_the_page_tells_is_a_test() -> None:
    missing = [name for file, name in NAMED if f"def {name}(" not in (STORIES / file).read_text()]
    assert len(NAMED) > 10
    assert missing == []
