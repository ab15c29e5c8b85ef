"""docs/operate/install.md: its commands and kustomization render objects; its tables name existing ones."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.packaging.charts import CHART, ROOT, run

pytestmark = pytest.mark.kube

PAGE = (ROOT / "docs/operate/install.md").read_text()
COMMANDS = re.findall(r"^helm install (.*)", PAGE.replace("\\\n", " "), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_helm_commands_of_the_page_render_a_release(command: str) -> None:
    words = [word for word in shlex.split(command) if word != "--create-namespace"]
    words[words.index("docker/helm/tenure")] = str(CHART)
    ended = run("helm", "template", *words)
    assert ended.returncode == 0, ended.stderr
    (deployment,) = (item for item in yaml.safe_load_all(ended.stdout) if item["kind"] == "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    images = {one["image"] for one in (*spec.get("initContainers", ()), *spec["containers"])}
    assert images == {"registry.example.com/tenure:0.1.0"}


def test_page_has_helm_commands() -> None:
    assert len(COMMANDS) == 3


def test_the_values_in_the_table_exist_and_have_these_defaults() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    rows = re.findall(r"^\| `([A-Za-z.]+)` \| (.*?) \| .* \|$", PAGE, re.MULTILINE)
    assert len(rows) >= 8
    for name, default in rows:
        value = values
        for key in name.split("."):
            value = value[key]
        if not isinstance(value, dict):
            assert str(value).lower() == default


def test_the_example_of_a_kustomization_changes_the_image(tmp_path: Path) -> None:
    found = re.search(r"```yaml\n(apiVersion: kustomize.*?)```", PAGE, re.DOTALL)
    assert found
    (tmp_path / "tenure").symlink_to(ROOT)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "kustomization.yaml").write_text(found[1])
    ended = run("kustomize", "build", "--load-restrictor=LoadRestrictionsNone", str(mine))
    assert ended.returncode == 0, ended.stderr
    assert set(re.findall(r"image: (.*)", ended.stdout)) == {"registry.example.com/tenure:0.1.0"}
