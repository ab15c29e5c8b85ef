"""All files of a run: read first, judged with the priority classes of all of them, written last."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tenure.server.migrate.classes import PriorityClasses
from tenure.server.migrate.edits import apply_edits
from tenure.server.migrate.files import ManifestError, find_files, read_text, replace_text
from tenure.server.migrate.finding import Finding, Status
from tenure.server.migrate.judge import Judge
from tenure.server.migrate.layout import Layout
from tenure.server.migrate.objects import ManifestObject, objects_in
from tenure.server.migrate.parsing import SyntaxFault, parse_json, parse_yaml


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One file: its text, the text it is to have, and what was found in it."""

    path: Path
    mark: str
    """Byte order mark, or nothing."""
    before: str
    after: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run finds and would write. Nothing is written before `write`."""

    files: tuple[FilePlan, ...]

    @property
    def findings(self) -> Iterator[Finding]:
        """Of all files, in order."""
        return (finding for file in self.files for finding in file.findings)

    def count(self, status: Status) -> int:
        """How many objects there are of which this becomes."""
        return sum(finding.status is status for finding in self.findings)

    def write(self) -> None:
        """Replace the files that change, each as a whole. Raises ManifestError."""
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
    """What is to be done with a file or a directory, with values given for priority classes.

    Raises ManifestError that names every file that cannot be read, and OptionError.
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
    return Plan(tuple(_judged(source, classes) for source in sources))


def _read(path: Path) -> _Source:
    mark, text = read_text(path)
    try:
        documents = parse_json(text) if path.suffix.lower() == ".json" else parse_yaml(text)
    except SyntaxFault as fault:
        raise ManifestError(f"{path}:{fault}{_hint(text, fault.line)}") from None
    return _Source(path, mark, text, tuple(objects_in(documents)))


def _hint(text: str, line: int) -> str:
    """Templates of charts lie beside manifests and look like them."""
    templated = "{{" in "\n".join(text.split("\n")[max(line - 2, 0) : line])
    return " (a template? render it first, and migrate what comes out)" if templated else ""


def _judged(source: _Source, classes: PriorityClasses) -> FilePlan:
    judge = Judge(str(source.path), Layout(source.text), classes)
    judgements = [judgement for each in source.objects if (judgement := judge.judge(each))]
    after = apply_edits(source.text, [edit for _, edit in judgements if edit])
    return FilePlan(source.path, source.mark, source.text, after, tuple(finding for finding, _ in judgements))
