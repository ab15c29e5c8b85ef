"""Compiles what takes the time to machine code when a wheel is built.

The same source decides two and a half to five times as fast then. The variable TENURE_COMPILED says whether:
1 requires a C compiler, 0 or an empty value builds pure Python, which fits every platform. Without the
variable, the solver is compiled where a C compiler and the headers of Python are, else the build warns.
`tenure --version` says which form is installed.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
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
    "tenure/solver/model/fast_dataclass.py",
)
"""Parts of these that run beside a cycle, not in it; the generator, which runs as a program; the engines,
which the server subclasses (an interpreted class cannot inherit a compiled one); and the module that shows
type checkers something else than it does.
"""

SETUP = """
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from mypyc.build import mypycify
from setuptools import setup
from setuptools.command.build_ext import build_ext


class CompileAtOnce(build_ext):
    def build_extensions(self):
        compile_files = self.compiler.compile

        def compile_at_once(sources, **options):
            with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a compiler of its own
                found = pool.map(lambda source: compile_files([source], **options), sources)
                return [path for paths in found for path in paths]

        self.compiler.compile = compile_at_once
        super().build_extensions()


options = ["--namespace-packages", "--explicit-package-bases", "--ignore-missing-imports"]
modules = mypycify([*options, *sys.argv.pop().split()], opt_level="3", multi_file=True, group_name="tenure")
if sys.platform != "win32":
    folder = os.getcwd()  # does not get into the result, which is the same from every folder
    for module in modules:  # nobody may put functions of their own in place of ours, so calls need not look
        flags = ["-fvisibility=hidden", f"-ffile-prefix-map={folder}=.", "-g0"]
        module.extra_compile_args = [*module.extra_compile_args, *flags]
setup(name="tenure", ext_modules=modules, cmdclass={"build_ext": CompileAtOnce})
"""


class CompiledSolver(BuildHookInterface[Any]):
    """Puts extension modules beside the sources into the wheel; imports find them first."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """The compiler, where it is used."""
        return ["mypy[mypyc]>=1.18,<3", "setuptools>=77"] if _is_compiled() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile in a folder of its own: a checkout must not import what was made from older sources."""
        if version != "standard":
            return
        if not _is_compiled():
            if _choice() is None:
                self._warn(_missing())
            return
        self._folder = TemporaryDirectory()
        folder = Path(self._folder.name)
        try:
            self._compile(folder)
        except (OSError, subprocess.CalledProcessError) as failure:
            if _choice() == "1":
                raise
            self._warn(str(failure))
            return
        made = {path: path.relative_to(folder) for path in folder.rglob("*.so")}
        in_place = {path: name for path, name in made.items() if name.parts[0] != "build"}
        build_data["force_include"].update({str(path): str(name) for path, name in in_place.items()})
        build_data.update(pure_python=False, infer_tag=True)

    def _warn(self, cause: str) -> None:
        warning = "The solver is not compiled, so it decides two and a half to five times slower"
        self.app.display_warning(f"{warning}: {cause}")

    def _compile(self, folder: Path) -> None:
        """Put extension modules beside copies of the sources. Raises CalledProcessError and OSError."""
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

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The wheel is written."""
        if folder := getattr(self, "_folder", None):
            folder.cleanup()


def _choice() -> str | None:
    return os.environ.get("TENURE_COMPILED")


def _is_compiled() -> bool:
    return _choice() == "1" or (_choice() is None and not _missing())


def _missing() -> str:
    """What this machine lacks to compile; empty if nothing."""
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "the headers of Python are not installed"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    return "" if shutil.which(compiler) else f"there is no C compiler ({compiler})"
