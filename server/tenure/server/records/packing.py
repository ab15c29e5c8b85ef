"""Bytes made smaller, on their own or by what they have in common with other bytes."""

from typing import Final

import zstandard

_LEVEL: Final = 3
_WINDOW_LOG: Final = 27
MAX_COMMON: Final = 2**_WINDOW_LOG
"""Bytes and what they are compared with may have so many together; beyond that nothing in common is found."""


def pack(content: bytes) -> bytes:
    """Smaller bytes."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(content)


def unpack(packed: bytes) -> bytes:
    """The bytes again. Raises ValueError when they are not what `pack` gave."""
    return _unpacked(zstandard.ZstdDecompressor(), packed)


def pack_change(content: bytes, before: bytes) -> bytes:
    """What is different from other bytes: a thousandth of a snapshot of which a few rows have changed."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL, source_size=len(content), window_log=_WINDOW_LOG, enable_ldm=True
    )
    return zstandard.ZstdCompressor(dict_data=_raw(before), compression_params=parameters).compress(content)


def unpack_change(packed: bytes, before: bytes) -> bytes:
    """The bytes again, with those they were compared with. Raises ValueError."""
    reader = zstandard.ZstdDecompressor(dict_data=_raw(before), max_window_size=MAX_COMMON)
    return _unpacked(reader, packed)


def _raw(content: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _unpacked(reader: zstandard.ZstdDecompressor, packed: bytes) -> bytes:
    try:
        return reader.decompress(packed)
    except zstandard.ZstdError as error:
        raise ValueError(f"packed bytes are damaged: {error}") from None
