"""Uploaded images and audio: their type is read from the bytes, not from the request.

Only formats that browsers decode without running code are accepted; SVG is not one of them. Bytes
that only begin like an image are refused where the structure shows it, and all files are served
with headers that keep a browser from interpreting them as something else.
"""

import struct
from collections.abc import Iterator

from driftduel.arena.problems import ArenaError

__all__ = ["FILE_HEADERS", "MEDIA", "checked_media"]

_MB = 1 << 20
MEDIA = {
    "image/png": 4 * _MB, "image/jpeg": 4 * _MB, "image/gif": 4 * _MB, "image/webp": 4 * _MB,
    "audio/mpeg": 16 * _MB, "audio/wav": 16 * _MB, "audio/ogg": 16 * _MB, "audio/mp4": 16 * _MB,
    "audio/webm": 16 * _MB, "audio/flac": 16 * _MB,
}  # fmt: skip
"""Accepted media types, with the maximum size in bytes."""
_ALIASES = {
    "image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav", "audio/x-m4a": "audio/mp4",
    "audio/m4a": "audio/mp4", "audio/aac": "audio/mp4", "audio/opus": "audio/ogg",
    "application/ogg": "audio/ogg", "video/webm": "audio/webm", "audio/x-flac": "audio/flac",
}  # fmt: skip
FILE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Content-Disposition": "inline",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Cache-Control": "private, max-age=31536000, immutable",
}
"""Headers of a served file: it is shown, cannot run anything, and is cached."""
_MOST_PIXELS = 100_000_000
_PNG, _GIF = b"\x89PNG\r\n\x1a\n", (b"GIF87a", b"GIF89a")
_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
"""JPEG markers of a frame, whose segment has the size of the image."""


def checked_media(data: bytes, declared: str) -> str:
    """Return the media type of an upload; it must agree with the declared one.

    Parameters
    ----------
    data
        The bytes of the file.
    declared
        The value of the header Content-Type; empty or ``application/octet-stream``: unknown.

    Raises
    ------
    ArenaError
        ``bad-request``, if the bytes are no complete image or audio file of an accepted type, or
        contradict the declared type; ``too-large``.
    """
    said = declared.partition(";")[0].strip().lower()
    said = "" if said == "application/octet-stream" else _ALIASES.get(said, said)
    if said and said not in MEDIA:
        raise ArenaError(
            "bad-request",
            f"files of type {said[:80]!r} are not accepted; send {', '.join(MEDIA)}.",
        )
    found = _media_of(data)
    if found is None:
        raise ArenaError(
            "bad-request",
            f"the {len(data):,} bytes are not a complete file of an accepted type; "
            f"send {', '.join(MEDIA)}.",
        )
    if said and said != found:
        raise ArenaError("bad-request", f"the file is {found}, but declared as {said}.")
    if len(data) > MEDIA[found]:
        raise ArenaError(
            "too-large",
            f"the file has {len(data):,} bytes; {found} may have {MEDIA[found]:,} at most.",
        )
    return found


def _media_of(data: bytes) -> str | None:
    """Return the media type that the structure of a file shows, or None."""
    try:
        if data.startswith(_PNG):
            return "image/png" if _is_png(data) else None
        if data.startswith(b"\xff\xd8\xff"):
            return "image/jpeg" if _is_jpeg(data) else None
        if data.startswith(_GIF):
            return "image/gif" if _is_gif(data) else None
        if data[:4] == b"RIFF" and _riff_size(data):
            return {b"WEBP": _webp(data), b"WAVE": _wav(data)}.get(data[8:12])
        return _audio(data)
    except (IndexError, struct.error):  # the file ends too early
        return None


def _is_size(width: int, height: int) -> bool:
    """Return whether an image has pixels, and not so many that a browser runs out of memory."""
    return width > 0 and height > 0 and width * height <= _MOST_PIXELS


def _is_png(data: bytes) -> bool:
    """Return whether chunks follow each other from IHDR to IEND, with nothing behind."""
    place, kinds = len(_PNG), []
    while place < len(data):
        size, kind = struct.unpack_from(">I4s", data, place)
        kinds.append(kind)
        place += 12 + size
    width, height = struct.unpack_from(">II", data, 16)
    framed = kinds[0] == b"IHDR" and kinds[-1] == b"IEND" and kinds.count(b"IEND") == 1
    return framed and b"IDAT" in kinds and place == len(data) and _is_size(width, height)


def _is_jpeg(data: bytes) -> bool:
    """Return whether segments follow each other to a scan, and the file ends with EOI."""
    place = 2
    sized = False
    while True:
        if data[place] != 0xFF:
            return False
        marker = data[place + 1]
        if marker == 0xDA:
            return sized and data.rstrip(b"\0").endswith(b"\xff\xd9")
        (size,) = struct.unpack_from(">H", data, place + 2)
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, place + 5)
            sized = _is_size(width, height)
        if size < 2:
            return False
        place += 2 + size


def _is_gif(data: bytes) -> bool:
    width, height = struct.unpack_from("<HH", data, 6)
    return len(data) > 20 and data.endswith(b";") and _is_size(width, height)


def _riff_size(data: bytes) -> bool:
    size: int = struct.unpack_from("<I", data, 4)[0]
    return len(data) - 1 <= size + 8 <= len(data)


def _webp(data: bytes) -> str | None:
    kinds = [kind for kind, _ in _riff_chunks(data)]
    return "image/webp" if {b"VP8 ", b"VP8L", b"ANMF"} & set(kinds) else None


def _wav(data: bytes) -> str | None:
    kinds = [kind for kind, _ in _riff_chunks(data)]
    return "audio/wav" if b"fmt " in kinds and b"data" in kinds else None


def _riff_chunks(data: bytes) -> Iterator[tuple[bytes, int]]:
    place = 12
    while place + 8 <= len(data):
        kind, size = struct.unpack_from("<4sI", data, place)
        place += 8 + size + size % 2
        if place <= len(data) + 1:
            yield kind, size


def _audio(data: bytes) -> str | None:
    """Return the type of an audio file that is not in a RIFF container, or None."""
    if len(data) < 64:
        return None
    if data.startswith(b"OggS\0"):
        return "audio/ogg"
    if data.startswith(b"fLaC\0\0\0\x22"):
        return "audio/flac"
    if data[4:8] == b"ftyp":
        return "audio/mp4"
    if data.startswith(b"\x1a\x45\xdf\xa3"):
        return "audio/webm" if b"webm" in data[:64] else None
    if data.startswith(b"ID3"):
        sizes = data[6:10]
        return "audio/mpeg" if max(sizes) < 0x80 else None
    mpeg = data[0] == 0xFF and data[1] & 0xE0 == 0xE0 and data[1] & 0x18 != 0x08
    rated = data[2] & 0xF0 not in (0xF0, 0x00) and data[2] & 0x0C != 0x0C
    return "audio/mpeg" if mpeg and data[1] & 0x06 == 0x02 and rated else None
