"""What is locked in docker/locks: names, versions, markers and hashes."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tools.tool import ROOT

FOLDER: Final = ROOT / "docker/locks"
LINUX: Final = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
"""The platform of the image, for markers."""


class Pin(NamedTuple):
    """One locked distribution."""

    requirement: Requirement
    hashes: int

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        (pinned,) = self.requirement.specifier
        assert pinned.operator == "=="
        return pinned.version

    def is_for_linux(self) -> bool:
        """Whether it is installed in the image."""
        marker = self.requirement.marker
        return marker is None or marker.evaluate(LINUX)


def read_lock(name: str) -> Mapping[str, Pin]:
    """The pins of a lock by canonical names."""
    pins = {}
    for entry in re.split(r"\n(?=[\w.-]+==)", (FOLDER / name).read_text()):
        if re.match(r"[\w.-]+==", entry):
            line = entry.split(" \\\n")[0]
            pin = Pin(Requirement(line), len(re.findall(r"--hash=sha256:[0-9a-f]{64}", entry)))
            pins[pin.name] = pin
    return pins


def lock_names() -> list[str]:
    """All locks."""
    return sorted(Path(path).name for path in FOLDER.glob("*.txt"))
