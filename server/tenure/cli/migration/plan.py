"""Files of a run: read first, assessed with the priority classes of all of them, written last."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copymode
from tempfile import NamedTemporaryFile
from typing import Final

from tenure.cli.migration.assess import ManifestAssessor
from tenure.cli.migration.edits import Layout, apply_edits
from tenure.cli.migration.findings import Finding, Status
from tenure.cli.migration.parsing import ManifestSyntaxError, parse_json, parse_yaml
from tenure.cli.migration.priority_classes import PriorityClasses
from tenure.cli.migration.workload_kinds import ManifestObject, objects_in

ENDINGS: Final = (".yaml", ".yml", ".json")
"""Extensions of files that are read."""

_BOM: Final = "\ufeff"


class ManifestError(ValueError):
    """Files cannot be read or written. Each line has a file and its problem."""


def find_files(path: Path) -> list[Path]:
    """The file, or all manifests below the directory, by name.

    Symbolic links inside a directory are not followed. Raises ManifestError.
    """
    if path.is_dir():
        return sorted(_below(path))
    if path.suffix.lower() not in ENDINGS:
        raise ManifestError(f"{path}: is not a directory, and its name does not end in {', '.join(ENDINGS)}")
    return [path]


def read_text(path: Path) -> tuple[str, str]:
    """Byte order mark or empty text, and the rest of the text. Raises ManifestError."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        fault = f"byte {error.start} is not valid UTF-8"
        raise ManifestError(f"{path}: not a UTF-8 text: {fault}") from None
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def replace_text(path: Path, text: str) -> None:
    """Replace a file atomically. Raises ManifestError.

    If the path is a link, its target is replaced.
    """
    target = path.resolve()
    try:
        with NamedTemporaryFile("wb", dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            try:
                file.write(text.encode())
                file.close()
                copymode(target, file.name)
                os.replace(file.name, target)
            except BaseException:
                with suppress(OSError):
                    os.unlink(file.name)
                raise
    except OSError as error:
        raise ManifestError(f"{path}: cannot be written: {error.strerror}") from None


def _below(folder: Path) -> Iterator[Path]:
    for where, _, names in os.walk(folder, onerror=_refuse):
        for name in names:
            file = Path(where, name)
            if file.suffix.lower() in ENDINGS and file.is_file() and not file.is_symlink():
                yield file


def _refuse(error: OSError) -> None:
    raise ManifestError(f"{error.filename}: cannot be read: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One file: its text, its new text, and findings."""

    path: Path
    mark: str
    """Byte order mark, or empty."""
    before: str
    after: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Findings and changes of a run. `write` writes the files."""

    files: tuple[FilePlan, ...]

    @property
    def findings(self) -> Iterator[Finding]:
        """Findings of all files, in order."""
        return (finding for file in self.files for finding in file.findings)

    def count(self, status: Status) -> int:
        """Number of objects with this status."""
        return sum(finding.status is status for finding in self.findings)

    def write(self) -> None:
        """Replace the changed files, each atomically. Raises ManifestError."""
        for file in self.files:
            if file.after != file.before:
                replace_text(file.path, file.mark + file.after)


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    mark: str
    text: str
    objects: tuple[ManifestObject, ...]


def plan_migration(path: Path, given: Mapping[str, int]) -> Plan:
    """Plan for a file or directory, with values of priority classes.

    Raises ManifestError with every unreadable file, and OptionError.
    """
    sources, faults = [], []
    for file in find_files(path):
        try:
            sources.append(_read(file))
        except ManifestError as error:
            faults.append(str(error))
    if faults:
        raise ManifestError("\n".join(faults))
    classes = PriorityClasses((each for source in sources for each in source.objects), given)
    return Plan(tuple(_assess_objects(source, classes) for source in sources))


def _read(path: Path) -> _Source:
    mark, text = read_text(path)
    try:
        documents = parse_json(text) if path.suffix.lower() == ".json" else parse_yaml(text)
    except ManifestSyntaxError as fault:
        raise ManifestError(f"{path}:{fault}{_hint(text, fault.line)}") from None
    return _Source(path, mark, text, tuple(objects_in(documents)))


def _hint(text: str, line: int) -> str:
    """Hint for templates of charts, which look like manifests."""
    templated = "{{" in "\n".join(text.split("\n")[max(line - 2, 0) : line])
    return " (if it is a template, render it first and migrate the result)" if templated else ""


def _assess_objects(source: _Source, classes: PriorityClasses) -> FilePlan:
    judge = ManifestAssessor(str(source.path), Layout(source.text), classes)
    judgements = [judgement for each in source.objects if (judgement := judge.assess(each))]
    after = apply_edits(source.text, [edit for _, edit in judgements if edit])
    return FilePlan(source.path, source.mark, source.text, after, tuple(finding for finding, _ in judgements))
