"""docker/Dockerfile and what compose makes of it, as far as they can be judged by reading them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.shipping.charts import ROOT
from tests.shipping.dockerfile import BUILT, FILE, USER, all_of, compose_service, instructions


def test_the_linter_of_dockerfiles_finds_no_fault() -> None:
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    assert linter, "hadolint comes with the extra `dev`"
    command = [linter, "--failure-threshold", "style", str(FILE)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_the_bases_are_one_release_of_python() -> None:
    images = dict(argument.split("=", 1) for argument in all_of("ARG"))
    stages = [images[stage.split()[0].strip("${}")] for stage in all_of("FROM")]
    pattern = re.compile(r"python:(3\.\d+\.\d+)(-slim)?(-[a-z]+)(@sha256:[0-9a-f]{64})?")
    releases = [pattern.fullmatch(image) for image in stages]
    assert len({(found[1], found[3]) for found in releases if found}) == 1
    assert None not in releases


def test_it_runs_as_nobody_and_without_a_shell() -> None:
    last = [one.rest for one in instructions() if one.name == "USER"][-1]
    assert last == f"{USER}:{USER}"
    assert json.loads(*all_of("ENTRYPOINT")) == ["tenure"]
    assert json.loads(*all_of("CMD"))[0] == "serve"
    assert "ADD" not in {one.name for one in instructions()}


def test_every_folder_that_is_copied_reaches_the_engine() -> None:
    ignored = (ROOT / "docker/Dockerfile.dockerignore").read_text().splitlines()
    copied = {name for rest in all_of("COPY") if not rest.startswith("--from") for name in rest.split()[:-1]}
    assert ignored[0] == "*"
    assert copied == {line.removeprefix("!") for line in ignored if line.startswith("!")}


def test_compose_gives_the_container_no_more_than_it_needs() -> None:
    service = compose_service()
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_program_is_where_the_last_stage_looks_for_it() -> None:
    assert f"--from=build {BUILT} {BUILT}" in all_of("COPY")
    assert any(rest.startswith(f"PATH={BUILT}/bin:") for rest in all_of("ENV"))
