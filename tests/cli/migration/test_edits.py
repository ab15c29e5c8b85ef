"""Edits of a migration: adds one line in its place and changes no other byte (semantics R8.1, R8.2)."""

import json
from pathlib import Path

import pytest
from tenure.cli.migration import Status

from tests.cli.migration.manifest_folder import migrated_text, plan_of, plan_statuses
from tests.cli.migration.manifest_pairs import ADDED, before_and_after


@pytest.mark.parametrize("marked", ADDED.values(), ids=ADDED)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "BOM"])
def test_only_the_marked_lines_are_added(tmp_path: Path, marked: str, line_end: str, mark: str) -> None:
    before, expected = (mark + text.replace("\n", line_end) for text in before_and_after(marked))
    assert migrated_text(plan_of(tmp_path, {"m.yaml": before})) == expected


GROUP = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\n"
POD = "apiVersion: v1\nkind: Pod\n"
JSON_POD = '{"apiVersion": "v1", "kind": "Pod", "spec": {"priorityClassName": "train", "containers": []}, '
KEY = "kai.scheduler/preemptibility"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        pytest.param(
            GROUP + "spec:\n  priorityClassName: train",
            GROUP + "spec:\n  priorityClassName: train\n  preemptibility: preemptible",
            id="no line end at the end",
        ),
        pytest.param(
            GROUP + "spec: {priorityClassName: build, minMember: 1} # one\n",
            GROUP + "spec: {priorityClassName: build, preemptibility: non-preemptible, minMember: 1} # one\n",
            id="braces",
        ),
        pytest.param(
            GROUP + "spec: {\n  queue: a,\n  priorityClassName: 'build' }\n",
            GROUP
            + "spec: {\n  queue: a,\n  priorityClassName: 'build',\n  preemptibility: 'non-preemptible' }\n",
            id="braces over several lines",
        ),
        pytest.param(
            GROUP + 'spec:\n  preemptibility: ""  # later\n  priorityClassName: train\n',
            GROUP + 'spec:\n  preemptibility: "preemptible"  # later\n  priorityClassName: train\n',
            id="an empty value is filled (R8.2)",
        ),
        pytest.param(
            GROUP + "spec:\n  preemptibility:  # later\n  priorityClassName: train\n",
            GROUP + "spec:\n  preemptibility: preemptible  # later\n  priorityClassName: train\n",
            id="no value is filled",
        ),
        pytest.param(
            POD + "metadata:\n  labels:\nspec: {priorityClassName: train}\n",
            POD + f"metadata:\n  labels: {{{KEY}: preemptible}}\nspec: {{priorityClassName: train}}\n",
            id="labels without a value",
        ),
        pytest.param(
            POD + "metadata: {labels: {}}\nspec: {priorityClassName: train}\n",
            POD + f"metadata: {{labels: {{{KEY}: preemptible}}}}\nspec: {{priorityClassName: train}}\n",
            id="no labels",
        ),
        pytest.param(
            POD + "spec: {priorityClassName: train}\n",
            f"apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    {KEY}: preemptible\n"
            "spec: {priorityClassName: train}\n",
            id="no metadata",
        ),
    ],
)
def test_value_is_added_in_the_style_of_the_manifest(tmp_path: Path, before: str, expected: str) -> None:
    assert migrated_text(plan_of(tmp_path, {"m.yaml": before})) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        pytest.param(
            JSON_POD + '"metadata": {"name": "a"}}',
            JSON_POD + f'"metadata": {{"name": "a", "labels": {{"{KEY}": "preemptible"}}}}}}',
            id="one line",
        ),
        pytest.param(
            '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"priorityClassName":"build"}}\n',
            '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"'
            + KEY
            + '":"non-preemptible"}},'
            '"spec":{"priorityClassName":"build"}}\n',
            id="without blanks",
        ),
        pytest.param(
            JSON_POD + '\n\t"metadata": {\n\t\t"name": "\\ud83d\\ude00 / \\/ \\\\ud83d \x7f"\n\t}\n}\n',
            JSON_POD
            + '\n\t"metadata": {\n\t\t"name": "\\ud83d\\ude00 / \\/ \\\\ud83d \x7f",\n\t\t"labels": {'
            f'\n\t\t\t"{KEY}": "preemptible"\n\t\t}}\n\t}}\n}}\n',
            id="tabs, and what YAML does not know",
        ),
        pytest.param(
            JSON_POD + '"metadata": {"labels": null}}',
            JSON_POD + f'"metadata": {{"labels": {{"{KEY}": "preemptible"}}}}}}',
            id="null",
        ),
    ],
)
def test_json_indentation_is_preserved(tmp_path: Path, before: str, expected: str) -> None:
    assert migrated_text(plan_of(tmp_path, {"m.json": before})) == expected
    json.loads(expected)


UNSAFE = {
    "labels that an anchor shares": (
        POD + "metadata:\n  labels: &l {a: b}\n  annotations: *l\nspec: {priorityClassName: train}\n",
        "the mapping of metadata.labels.kai.scheduler/preemptibility is shared by a YAML anchor",
    ),
    "labels that a merge key brings": (
        POD + "base: &b {labels: {a: b}}\nmetadata:\n  <<: *b\nspec: {priorityClassName: train}\n",
        "metadata.labels comes from a YAML merge key",
    ),
    "labels that are none": (
        POD + "metadata:\n  labels: [a]\nspec: {priorityClassName: train}\n",
        "metadata.labels is not a mapping",
    ),
    "a value that is none": (
        GROUP + "spec:\n  priorityClassName: train\n  preemptibility: {a: b}\n",
        "spec.preemptibility is not a string",
    ),
    "an empty text of several lines": (
        GROUP + "spec:\n  preemptibility: |\n  priorityClassName: train\n",
        "preemptibility is empty in an unsupported style",
    ),
    "keys with question marks": (
        GROUP + "spec:\n  ? priorityClassName\n  : train\n",
        "the keys around preemptibility are in an unsupported style",
    ),
    "a key that is not there": (
        POD + "metadata:\n  ? # nobody knows\n  name: [a]\nspec: {priorityClassName: train}\n",
        "the keys around labels are in an unsupported style",
    ),
    "nothing but aliases": (
        POD + "metadata: &m {name: a}\nspec: {priorityClassName: train}\nother: {m: *m}\n",
        "the mapping of metadata.labels is shared by a YAML anchor",
    ),
}


@pytest.mark.parametrize(("text", "says"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe_edit_needs_attention(tmp_path: Path, text: str, says: str) -> None:
    plan = plan_of(tmp_path, {"m.yaml": text})
    (finding,) = plan.findings
    assert (finding.status, migrated_text(plan)) == (Status.ATTENTION, text)
    assert finding.message.startswith(f"{says}; write ")
    assert finding.message.endswith(": preemptible")


@pytest.mark.parametrize("marked", ADDED.values(), ids=ADDED)
def test_second_run_changes_nothing(tmp_path: Path, marked: str) -> None:
    _, expected = before_and_after(marked)
    plan = plan_of(tmp_path, {"m.yaml": expected})
    assert migrated_text(plan) == expected
    assert set(plan_statuses(plan)) == {Status.EXPLICIT}
