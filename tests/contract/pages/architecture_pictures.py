"""The check `architecture-pictures`: the layers of the packages, the solver and the server, drawn from the
import contracts of pyproject.toml and from the imports of the code.

An arrow is an import. Left out are arrows that a longer chain of arrows implies.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import grimp
import typer

from tests.checks import Counts

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = ROOT / "docs" / "internals"
UPDATE: Final = "python -m tests architecture-pictures --update"
_WIDTH, _BOX, _GAP, _MARGIN, _TOP = 1000, 32, 40, 20, 50
_CHARACTER: Final = 7.3
"""Width of a character of a name."""


class Picture(NamedTuple):
    """Layers from the top down, and what each of their packages or modules imports directly."""

    title: str
    layers: Sequence[Sequence[str]]
    imports: Mapping[str, frozenset[str]]


class _Box(NamedTuple):
    x: float
    y: float
    width: float


def main(update: Annotated[bool, typer.Option("--update", help="Draw the pictures first")] = False) -> Counts:
    """Compare the kept pictures with those that the code gives."""
    failed = 0
    for name, picture in pictures().items():
        drawn = draw(picture)
        if update:
            (FOLDER / name).write_text(drawn, encoding="utf-8")
        if not (FOLDER / name).exists() or (FOLDER / name).read_text(encoding="utf-8") != drawn:
            print(f"docs/internals/{name} differs from the code: {UPDATE} draws it")
            failed += 1
    return Counts(len(pictures()) - failed, failed)


@cache
def pictures() -> Mapping[str, Picture]:
    """All pictures by the names of their files."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    graph = grimp.build_graph(*settings["root_packages"], cache_dir=None)
    found = (contract for contract in settings["contracts"] if contract["type"] == "layers")
    return dict(_picture(contract, graph) for contract in found)


def _picture(contract: Mapping[str, Any], graph: grimp.ImportGraph) -> tuple[str, Picture]:
    (container,) = contract.get("containers", ("",))
    prefix = f"{container}." if container else ""
    layers = [re.split(r"\s*\|\s*", layer) for layer in contract["layers"]]
    names = [name for layer in layers for name in layer]
    members = {name: {prefix + name, *graph.find_descendants(prefix + name)} for name in names}
    owners = {module: name for name, modules in members.items() for module in modules}
    imports = {
        name: frozenset(
            owners[imported]
            for module in members[name]
            for imported in graph.find_modules_directly_imported_by(module)
            if owners.get(imported, name) != name
        )
        for name in names
    }
    title = f"Layers of {container or 'the packages'}: each imports only what is below it"
    return f"{container.rpartition('.')[2] or 'packages'}.svg", Picture(title, layers, imports)


def arrows(picture: Picture) -> Iterator[tuple[str, str]]:
    """Direct imports that no chain of other imports implies."""
    below: dict[str, frozenset[str]] = {}
    for layer in reversed(picture.layers):
        for name in layer:
            direct = picture.imports[name]
            implied = frozenset[str]().union(*(below[each] for each in direct))
            below[name] = direct | implied
            yield from ((name, each) for each in sorted(direct - implied))


def draw(picture: Picture) -> str:
    """The picture as SVG."""
    boxes = dict(_place(picture.layers))
    height = _TOP + len(picture.layers) * (_BOX + _GAP) - _GAP + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="ui-monospace, monospace" font-size="12" text-anchor="middle">',
        f"<title>{escape(picture.title)}</title>",
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" fill="#0969da"/></marker></defs>',
        f'<rect width="100%" height="{height}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="28" font-size="13" text-anchor="start">{escape(picture.title)}</text>',
    ]
    for upper, lower in arrows(picture):
        lines.append(_arrow(boxes[upper], boxes[lower]))
    for name, box in boxes.items():
        lines.extend(_draw_box(name, box))
    return "\n".join([*lines, "</svg>", ""])


def _place(layers: Sequence[Sequence[str]]) -> Iterator[tuple[str, _Box]]:
    """One row for each layer, with equal spaces around its boxes."""
    for row, layer in enumerate(layers):
        widths = [max(76.0, len(name.removeprefix("tenure.")) * _CHARACTER + 14) for name in layer]
        space = (_WIDTH - 2 * _MARGIN - sum(widths)) / (len(layer) + 1)
        x = _MARGIN + space
        for name, width in zip(layer, widths, strict=True):
            yield name, _Box(x, _TOP + row * (_BOX + _GAP), width)
            x += width + space


def _arrow(upper: _Box, lower: _Box) -> str:
    """A curve from the lower edge of a box to the upper edge of another one, behind all boxes."""
    begin, end = upper.x + upper.width / 2, lower.x + lower.width / 2
    top, bottom = upper.y + _BOX, lower.y
    bend = (bottom - top) / 2
    return (
        f'<path d="M {begin:.1f} {top} C {begin:.1f} {top + bend:.1f} {end:.1f} {bottom - bend:.1f} '
        f'{end:.1f} {bottom}" fill="none" stroke="#0969da" stroke-opacity="0.6" marker-end="url(#end)"/>'
    )


def _draw_box(name: str, box: _Box) -> Iterator[str]:
    middle = box.x + box.width / 2
    yield (
        f'<rect x="{box.x:.1f}" y="{box.y}" width="{box.width:.1f}" height="{_BOX}" rx="4" fill="#f6f8fa" '
        'stroke="#57606a"/>'
    )
    label = escape(name.removeprefix("tenure."))
    yield f'<text x="{middle:.1f}" y="{box.y + 20}" fill="#1f2328">{label}</text>'
