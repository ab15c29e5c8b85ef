"""Every sentence of the explanation code has a check, and is true on a few clusters."""

from collections import Counter

import pytest
from tenure.solver.diagnosis.remedies import RemedyKind
from tenure.terms.reasons import REASONS

from tests.properties.sentences.case import Said
from tests.properties.sentences.catalog import glue_templates, sentence_templates, split_sentences
from tests.properties.sentences.judged_sentences import judge, report
from tests.properties.sentences.reasons import REASONED
from tests.properties.sentences.table import GLUE, KINDS, REMEDIES, all_kinds, kind_of

SEEDS = range(3)
MORE_SEEDS = range(3, 9)


def test_every_sentence_template_has_a_check() -> None:
    checked = {template for kind in KINDS for template in kind.templates}
    assert sentence_templates() - checked == set()


def test_every_template_that_joins_sentences_is_known() -> None:
    checked = {template for kind in KINDS for template in kind.templates}
    assert glue_templates() - checked <= set(GLUE)


def test_every_reason_of_a_pending_pod_group_has_a_check() -> None:
    assert {code for code, row in REASONS.items() if row.clause} <= set(REASONED)


def test_every_kind_of_remedy_has_a_check() -> None:
    assert set(REMEDIES) == {kind.name for kind in RemedyKind}


def test_names_of_kinds_are_unique() -> None:
    names = [kind.name for kind in all_kinds()]
    assert len(set(names)) == len(names)


def test_a_sentence_that_is_in_no_template_has_no_kind() -> None:
    assert kind_of(Said("why_pending", 0, "It is blue.")) is None


def test_sentences_are_separated_where_they_end() -> None:
    text = "Of 1.5 GPUs: 0.5 free. At 10:00 it is pending. Reason: it is."
    assert split_sentences(text) == ["Of 1.5 GPUs: 0.5 free.", "At 10:00 it is pending. Reason: it is."]


def _judged(seeds: range) -> Counter[str]:
    total = Counter[str]()
    for seed in seeds:
        total.update(judge(seed))
    return total


@pytest.mark.timeout(600)
def test_no_sentence_is_false_on_a_few_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    counts = report(_judged(SEEDS))
    printed = capsys.readouterr().out
    assert counts.failed == 0, printed
    assert counts.passed > 80


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_no_sentence_is_false_on_more_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    counts = report(_judged(MORE_SEEDS))
    assert counts.failed == 0, capsys.readouterr().out
