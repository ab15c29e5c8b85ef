"""Compiles what takes the time to machine code when a wheel is built with TENURE_COMPILED=1.

That needs a C compiler. The same source runs two to three times as fast. Without the variable the wheel is
pure Python and fits every platform.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = ("protos", "server", "client")
COMPILED = (
    "tenure/terms",
    "tenure/wire",
    "tenure/solver",
    "tenure/codec",
    "tenure/server/deadlines.py",
    "tenure/server/state/warm_start.py",
)
INTERPRETED = (
    "tenure/wire/generate.py",
    "tenure/wire/yaml_limits.py",
    "tenure/codec/engine.py",
    "tenure/codec/simulation.py",
    "tenure/solver/testing",
    "tenure/solver/explain",
    "tenure/solver/model/fast_dataclass.py",
)
"""Parts of these that run beside a cycle, not in it; the generator, which runs as a program; the engines,
which the server subclasses (an interpreted class cannot inherit a compiled one); and the module that shows
type checkers something else than it does.
"""

SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup
options = ["--namespace-packages", "--explicit-package-bases", "--ignore-missing-imports"]
modules = mypycify([*options, *sys.argv.pop().split()], opt_level="3", multi_file=True, group_name="tenure")
if sys.platform != "win32":
    for module in modules:  # nobody may put functions of their own in place of ours, so calls need not look
        module.extra_compile_args = [*module.extra_compile_args, "-fvisibility=hidden"]
setup(name="tenure", ext_modules=modules)
"""


class CompiledSolver(BuildHookInterface[Any]):
    """Puts extension modules beside the sources into the wheel; imports find them first."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """The compiler, where it is wanted."""
        return ["mypy[mypyc]>=1.18,<3", "setuptools>=77"] if _is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile in a folder of its own: a checkout must not import what was made from older sources."""
        if version != "standard" or not _is_wanted():
            return
        self._folder = TemporaryDirectory()
        folder = Path(self._folder.name)
        for source in SOURCES:
            shutil.copytree(Path(self.root, source, "tenure"), folder / "tenure", dirs_exist_ok=True)
        apart = {folder / name for name in INTERPRETED}
        places = [folder / name for name in COMPILED]
        files = sorted(
            path for place in places for path in ((place,) if place.is_file() else place.rglob("*.py"))
        )
        names = [str(path.relative_to(folder)) for path in files if apart.isdisjoint((path, *path.parents))]
        command = [sys.executable, "-c", SETUP, "--quiet", "build_ext", "--inplace", " ".join(names)]
        subprocess.run(command, cwd=folder, check=True)  # noqa: S603
        made = {path: path.relative_to(folder) for path in folder.rglob("*.so")}
        in_place = {path: name for path, name in made.items() if name.parts[0] != "build"}
        build_data["force_include"].update({str(path): str(name) for path, name in in_place.items()})
        build_data.update(pure_python=False, infer_tag=True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The wheel is written."""
        if folder := getattr(self, "_folder", None):
            folder.cleanup()


def _is_wanted() -> bool:
    return os.environ.get("TENURE_COMPILED") == "1"
