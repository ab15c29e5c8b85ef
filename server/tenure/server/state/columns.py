"""Columns of pods put together and rows taken out, without a message for each pod."""

from collections.abc import Container, Iterable, Sequence
from itertools import chain, compress, pairwise
from typing import Any

from tenure.server.codec.columns import TEXT_COLUMNS, Table, read_table
from tenure.v1.snapshot_pb2 import PodColumns


def joined(pieces: Sequence[PodColumns]) -> PodColumns:
    """All rows of sound columns, one after the other; texts that no row uses any more are dropped."""
    filled = [piece for piece in pieces if piece.uid]
    return filled[0] if len(filled) == 1 else _write([read_table(piece) for piece in filled])


def without(columns: PodColumns, gone: Container[str]) -> PodColumns:
    """The rows of sound columns whose uid is not among those that are gone."""
    stays = [uid not in gone for uid in columns.uid]
    if all(stays):
        return columns
    return _write([Table._make(list(compress(column, stays)) for column in read_table(columns))])


def _write(tables: Iterable[Table]) -> PodColumns:
    """Tables as columns. Columns that hold nothing but the default are left out."""
    columns, texts = PodColumns(), dict[str, int]()
    for field, parts in zip(Table._fields, zip(*tables, strict=True), strict=False):
        values: list[Any] = list(chain.from_iterable(parts))
        if not any(values):
            continue
        if field == "creation":
            columns.creation_time_delta.extend(_differences(values))
        elif field in TEXT_COLUMNS:
            getattr(columns, field).extend([texts.setdefault(text, len(texts)) for text in values])
        else:
            getattr(columns, field).extend(values)
    columns.texts.extend(texts)
    return columns


def _differences(times: Iterable[int]) -> list[int]:
    return [after - before for before, after in pairwise(chain((0,), times))]
