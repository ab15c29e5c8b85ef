"""Words that the style guide excludes from documentation, protos, docstrings, comments, messages, names."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
_WORDS: Final = (
    "nobody|somebody|whoever|whom|anew|mend|came to nothing|what became of|of account|has a say"
    "|redeem(?:s|ed)?|promise[sd]?|openings?|rooms?|doubt(?:s|ful)?"
)
_EXCLUDED: Final = re.compile(rf"\b({_WORDS})\b", re.IGNORECASE)
_ANYWHERE: Final = re.compile(_WORDS.replace(" ", r"\s"), re.IGNORECASE)
"""Also as a part of a word: files without it need not be parsed."""
_EXCLUDED_IN_NAMES: Final = re.compile(
    r"told|tell(?:s|ing)?|mine|theirs|ask(?:s|ed|ing|ers?)?|rooms?|turns?|doubt(?:s|ful)?|openings?"
    r"|sa(?:ys?|id|ying)",
    re.IGNORECASE,
)
_CHECKED: Final = (
    *("docs/**/*.md", "README.md", "protos/**/*", "client/**/*.py", "server/**/*.py"),
    *("server/**/*.yaml", "docker/**/*.yaml"),
)


def _files(globs: tuple[str, ...]) -> set[Path]:
    found = {path for glob in globs for path in ROOT.glob(glob)}
    return {
        path for path in found if path.suffix in {".md", ".proto", ".py", ".yaml"} and "_pb2" not in path.name
    }


def prose_of(text: str, suffix: str) -> Iterator[str]:
    """The text of a page, the comments of a proto or a YAML file, or the docstrings, comments and messages of
    a module.

    A message is a text with a space, so that keys and names of fields are not checked. Names on a page are in
    backticks.
    """
    if suffix == ".md":
        yield re.sub(r"`[^`\s]+`", "``", text)
    elif suffix == ".proto":
        yield from re.findall(r"//(.*)", text)
    elif suffix == ".yaml":
        yield from re.findall(r"(?:^|\s)#(.*)", text, re.MULTILINE)
    else:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
                yield node.value
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        yield from (token.string for token in tokens if token.type == tokenize.COMMENT)


def excluded_words(path: Path) -> set[str]:
    """Excluded words in a file, in lower case."""
    return excluded_words_of(path.read_text(encoding="utf-8"), path.suffix)


def excluded_words_of(text: str, suffix: str) -> set[str]:
    """Excluded words in the prose of a text, in lower case."""
    if not _ANYWHERE.search(text):
        return set()
    return {word.lower() for part in prose_of(text, suffix) for word in _EXCLUDED.findall(part)}


def test_files_have_no_excluded_words() -> None:
    found = {path: excluded_words(path) for path in sorted(_files(_CHECKED))}
    assert len(found) > 100
    assert {str(path.relative_to(ROOT)): words for path, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "suffix", "parts"),
    [
        ("nobody", ".md", ["nobody"]),
        ("a `room` and `a room`", ".md", ["a `` and `a room`"]),
        ("string room = 1;  // a room", ".proto", [" a room"]),
        ("room: 1  # a room\nnote: a#b", ".yaml", [" a room"]),
        ('"""A module."""\nroom = "room"  # note', ".py", ["A module.", "# note"]),
        ('raise Error(f"{kind} is unknown: {name}")', ".py", [" is unknown: "]),
    ],
)
def test_only_prose_is_checked(text: str, suffix: str, parts: list[str]) -> None:
    assert list(prose_of(text, suffix)) == parts


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("Nobody is asked.", ".md"),
        ("string pod = 1;  // Who was promised it.", ".proto"),
        ("# Nobody yields.", ".yaml"),
        ('"""What became of it."""', ".py"),
        ("pods = 1  # Mend this.", ".py"),
        ('raise Error("there is no room")', ".py"),
    ],
)
def test_excluded_words_are_found(text: str, suffix: str) -> None:
    assert len(excluded_words_of(text, suffix)) == 1


def terms_of(page: str) -> set[str]:
    """Terms in the first column of the tables of a page whose heading is `term`."""
    rows: set[str] = set()
    is_term_table = False
    for line in page.splitlines():
        first = line.split("|")[1].strip() if line.startswith("|") else ""
        is_term_table = bool(first) and (is_term_table or first == "term")
        if is_term_table:
            rows.update(re.split(r", |; ", first))
    return rows - {"term", "---"}


def test_the_glossary_defines_the_terms_of_the_concepts() -> None:
    glossary = terms_of((ROOT / "docs/reference/glossary.md").read_text("utf-8"))
    concepts = (ROOT / "docs/get-started/concepts.md").read_text("utf-8")
    in_bold = {term.lower().removesuffix("s") for term in re.findall(r"\*\*(.+?)\*\*", concepts)}
    assert len(in_bold) > 10
    assert sorted((terms_of(concepts) | in_bold) - glossary) == []


def test_the_glossary_defines_the_nouns_of_the_search() -> None:
    page = (ROOT / "docs/internals/search.md").read_text("utf-8").replace("| noun |", "| term |")
    glossary = terms_of((ROOT / "docs/reference/glossary.md").read_text("utf-8"))
    assert sorted(terms_of(page) - glossary) == []


def names_of(text: str) -> set[str]:
    """Names that a module gives to functions, classes, parameters, imports, variables and attributes."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.arg(arg=name) | ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
    return found


def excluded_names(names: set[str]) -> set[str]:
    """Names with an excluded word between underscores or capitals."""
    parts = {name: re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name) for name in names}
    return {name for name in names if any(map(_EXCLUDED_IN_NAMES.fullmatch, parts[name]))}


def test_names_follow_the_glossary() -> None:
    modules = _files(("client/**/*.py", "server/**/*.py", "protos/**/*.py", "docker/**/*.py"))
    assert len(modules) > 100
    found = {
        path: excluded_names({path.stem, *names_of(path.read_text("utf-8"))}) for path in sorted(modules)
    }
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


def elliptic_docstrings(text: str) -> list[str]:
    """Begins of docstrings, of variables too, that refer to another one instead of their subject."""
    return re.findall(r'^ *"""((?:The same|See)\b.*)', text, re.MULTILINE)


def test_docstrings_name_their_subject() -> None:
    folders = ("client", "server", "protos", "docker", "tests")
    modules = _files(tuple(f"{folder}/**/*.py" for folder in folders))
    found = {path: elliptic_docstrings(path.read_text("utf-8")) for path in sorted(modules)}
    assert {str(path.relative_to(ROOT)): lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('"""See Engine."""', 1),
        ('least = 1\n"""The same by the largest device."""', 1),
        ('def find(): \n    """The same without victims."""', 1),
        ('"""Return what Engine does. See there."""', 0),
    ],
)
def test_docstrings_without_a_subject_are_found(text: str, number: int) -> None:
    assert len(elliptic_docstrings(text)) == number


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def tell(): pass", {"tell"}),
        ("class SharedTurns: pass", {"SharedTurns"}),
        ("def find(asker): pass", {"asker"}),
        ("mine, theirs = own, other", {"mine", "theirs"}),
        ("self._told = 1", {"_told"}),
        ("IN_TURN: int = 1", {"IN_TURN"}),
        ("import reservations as rooms", {"rooms"}),
        ("match rows:\n    case [said, *asked]: pass", {"said", "asked"}),
        ("task = headroom = essay = returned = told.tell(asking)", set()),
    ],
)
def test_excluded_words_in_names_are_found(text: str, names: set[str]) -> None:
    assert excluded_names(names_of(text)) == names
