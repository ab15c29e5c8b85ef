"""Joins the pages of docs and the files that they name to a site.

The navigation comes from the tables of docs/README.md and of other pages named README.md. A link to a file
outside docs leads to a copy of it below `source`: a page as it is, code with colors.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
_LINK: Final = re.compile(r"(\]\()((?!\w+:)[^)#\s]+)(#[^)\s]*)?(\))")
_ROW: Final = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.md)\)")
_LANGUAGES: Final = {
    ".py": "python",
    ".go": "go",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "sh",
    ".toml": "toml",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the navigation."""
    config.nav = [{"Home": "README.md"}, *_sections("README.md")]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add copies of all files outside docs that pages name, and that these name in turn."""
    waiting = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    seen = {*waiting}
    while waiting:
        page = waiting.pop()
        for target in _targets(page):
            if target not in seen and not target.startswith("docs/") and (ROOT / target).exists():
                seen.add(target)
                files.append(_copy(target, config))
                if target.endswith(".md"):
                    waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to the pages of the site."""
    path = _repository_path(page.file.src_uri)

    def replaced(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        if not (ROOT / target).exists():
            return found[0]  # strict: the link is reported
        uri = posixpath.relpath(_site_uri(target), posixpath.dirname(page.file.src_uri) or ".")
        return f"{found[1]}{uri}{found[3] or ''}{found[4]}"

    return _outside_code(markdown, lambda text: _LINK.sub(replaced, text))


def _sections(page: str) -> Iterator[dict[str, Any]]:
    """The sections of a page of tables, with the pages of their rows in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        rows = "\n".join(line for line in body.splitlines() if line.startswith("|"))
        entries = [
            _entry(name, posixpath.join(posixpath.dirname(page), link)) for name, link in _ROW.findall(rows)
        ]
        if entries:
            yield {title: entries}


def _entry(name: str, link: str) -> dict[str, Any]:
    uri = posixpath.normpath(link)
    title = name[0].upper() + name[1:]
    if uri.startswith(".."):
        return {title: _site_uri(posixpath.normpath(f"docs/{uri}"))}
    if posixpath.basename(uri) == "README.md":
        return {title: [uri, *(_title_of(record) for record in _linked(uri))]}
    return {title: uri}


def _linked(page: str) -> Iterator[str]:
    """Pages in the first table of an index, in the same folder."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for _, link in _ROW.findall("\n".join(line for line in text.splitlines() if line.startswith("|"))):
        yield posixpath.join(posixpath.dirname(page), link)


def _title_of(page: str) -> dict[str, str]:
    return {(ROOT / "docs" / page).read_text(encoding="utf-8").split("\n")[0].removeprefix("# "): page}


def _targets(path: str) -> Iterator[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    for found in _LINK.finditer(text):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))


def _site_uri(path: str) -> str:
    """Where a file of the repository is on the site."""
    if path == "docs" or path.startswith("docs/"):
        return path.removeprefix("docs").removeprefix("/") or "README.md"
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def _repository_path(uri: str) -> str:
    return uri.removeprefix("source/") if uri.startswith("source/") else f"docs/{uri}"


def _copy(path: str, config: MkDocsConfig) -> File:
    file = ROOT / path
    if path.endswith(".md"):
        content = file.read_text(encoding="utf-8")
    elif file.is_dir():
        names = sorted(child.name for child in file.iterdir() if not child.name.startswith((".", "__")))
        content = "\n".join([f"# {path}", "", *(f"- `{name}`" for name in names)])
    else:
        text = file.read_text(encoding="utf-8").rstrip()
        language = _LANGUAGES.get(file.suffix, "text")
        content = f"---\nsearch: {{exclude: true}}\n---\n# {path}\n\n````{language}\n{text}\n````\n"
    inclusion = InclusionLevel.NOT_IN_NAV
    return File.generated(config, _site_uri(path), content=content, inclusion=inclusion)


def _outside_code(markdown: str, change: Any) -> str:
    """Change a page, but not its blocks of code."""
    parts = re.split(r"(^(`{3,})[^\n]*\n.*?^\2`*\s*$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        change(part) if at % 3 == 0 else part if at % 3 == 1 else "" for at, part in enumerate(parts)
    )
