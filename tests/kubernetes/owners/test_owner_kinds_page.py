"""docs/reference/kubernetes-objects.md lists the table of kinds, and the chart permits reading them."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
import yaml
from tenure.kubernetes.owners.kinds import OwnerKind, RoleRow, built_in_kinds
from tenure.kubernetes.settings import load_adapter_settings

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs/reference/kubernetes-objects.md").read_text()
KINDS: Final = built_in_kinds().by_name
NOT_READ: Final = {("", "Node")}
"""Owners of static pods. They are not read."""


def rows() -> Iterable[tuple[list[str], str, list[str]]]:
    """Kinds, API group and the other cells of each row of the table."""
    table = PAGE.partition("| kind | API group |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        kinds, group, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        if group:
            named = [kind.removesuffix(" of Knative") for kind in kinds.split(", ")]
            yield named, group.strip("`").replace("core", ""), rest


def test_the_page_lists_every_kind_with_its_pod_group() -> None:
    listed = {(group, kind): rest[0] for kinds, group, rest in rows() for kind in kinds}
    assert listed == {name: str(row.pod_group) for name, row in KINDS.items() if name not in NOT_READ}


def test_the_page_says_which_class_pods_have_that_name_none_r8_3() -> None:
    for kinds, group, (grouping, _, given, _) in rows():
        for kind in kinds:
            expected = "" if grouping == "below" else f"`{KINDS[group, kind].class_without_another}`"
            assert (kind, given) == (kind, expected)


def test_the_page_names_the_fields_that_are_read() -> None:
    for kinds, group, (_, gang, _, also) in rows():
        for kind in kinds:
            row = KINDS[group, kind]
            for path in row.minimum:
                last = re.findall(r"[A-Za-z/-]+", path.text)[-1]
                assert f"{last}`" in gang
            for path in (*row.queue, *row.priority_class, *row.preemptibility):
                assert f"`{'.'.join(path.text.split('.')[-2:])}`" in also
            sizes = (path for role in row.roles for one in role.size for path in (*one.first, *one.least))
            for path in sizes:
                assert f"{path.text.rpartition('.')[2]}`" in gang


@pytest.mark.parametrize("model", [OwnerKind, RoleRow])
def test_the_page_names_every_key_of_a_row(model: type[OwnerKind] | type[RoleRow]) -> None:
    assert [one.alias for one in model.model_fields.values() if f"`{one.alias}`" not in PAGE] == []


def test_example_of_the_page_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "adapter.yaml"
    file.write_text(PAGE.partition("```yaml\n")[2].partition("```")[0])
    [row] = load_adapter_settings(file, {}).adapter.owner_kinds
    assert (row.kind, [role.name for role in row.roles]) == ("Simulation", ["master", "@.name"])


def test_the_chart_permits_reading_every_kind() -> None:
    values = yaml.safe_load((ROOT / "docker/helm/tenure/values.yaml").read_text())
    permitted = {
        (group, resource)
        for rule in values["adapter"]["owners"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    wanted = {(group, f"{kind.lower()}s") for group, kind in KINDS if (group, kind) not in NOT_READ}
    between = {("serving.knative.dev", "configurations"), ("serving.knative.dev", "revisions")}
    assert permitted == wanted | between
