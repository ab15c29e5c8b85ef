"""Static checks of docker/Dockerfile and docker/compose.yaml."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.packaging.charts import ROOT
from tests.packaging.dockerfile import BUILT, FILE, USER, arguments_of, compose_service, instructions


def test_hadolint_passes() -> None:
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    assert linter, "hadolint comes with the extra `dev`"
    command = [linter, "--failure-threshold", "style", str(FILE)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_the_bases_are_one_release_of_python() -> None:
    images = dict(argument.split("=", 1) for argument in arguments_of("ARG"))
    stages = [images[stage.split()[0].strip("${}")] for stage in arguments_of("FROM")]
    pattern = re.compile(r"python:(3\.\d+\.\d+)(-slim)?(-[a-z]+)(@sha256:[0-9a-f]{64})?")
    releases = [pattern.fullmatch(image) for image in stages]
    assert len({(found[1], found[3]) for found in releases if found}) == 1
    assert None not in releases


def test_image_runs_as_unprivileged_user_without_shell() -> None:
    last = [one.rest for one in instructions() if one.name == "USER"][-1]
    assert last == f"{USER}:{USER}"
    assert json.loads(*arguments_of("ENTRYPOINT")) == ["tenure"]
    assert json.loads(*arguments_of("CMD"))[0] == "serve"
    assert "ADD" not in {one.name for one in instructions()}


def test_every_folder_that_is_copied_reaches_the_engine() -> None:
    ignored = (ROOT / "docker/Dockerfile.dockerignore").read_text().splitlines()
    copied = {
        name for rest in arguments_of("COPY") if not rest.startswith("--from") for name in rest.split()[:-1]
    }
    assert ignored[0] == "*"
    assert copied == {line.removeprefix("!") for line in ignored if line.startswith("!")}


def test_compose_service_is_read_only_without_capabilities() -> None:
    service = compose_service()
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_program_is_on_the_path_of_the_last_stage() -> None:
    assert f"--from=build {BUILT} {BUILT}" in arguments_of("COPY")
    assert any(rest.startswith(f"PATH={BUILT}/bin:") for rest in arguments_of("ENV"))
