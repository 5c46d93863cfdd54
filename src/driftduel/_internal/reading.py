"""Defensive reading of users' files.

A path may lead to any object: a device, a pipe, an archive that expands to terabytes. Only regular
files of limited size are read, an archive is unpacked only if its directory and the header of the
array agree on the size, and pickles are never loaded. All errors are of the class `DriftduelError`.
"""

import io
import json
import math
import os
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from driftduel.errors import DriftduelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MOST_BYTES", "MOST_TEXT", "arrays", "parse_json", "read_bytes", "read_text"]

MOST_BYTES = 1 << 30
"""The largest size of a file of arrays; fits the largest written world, 10^8 values."""
MOST_TEXT = 1 << 27
"""The largest size of a text file: a matrix of 4,000 arms, or any plan."""
_MOST_ARRAYS = 1000
_KINDS = "biufU"  # integers, floats, booleans, text: never the object type, which is pickled


def read_bytes(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file of at most `most` bytes."""
    name = str(path)
    try:
        # Opening a pipe without a writer would block forever: open without blocking.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
        flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        with open(path, "rb", opener=lambda where, _: os.open(where, flags)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DriftduelError(f"cannot read {name!r}: {_what_it_is(status)}.")
            # The limit also holds for files that grow while being read, or that report no size.
            content = file.read(most + 1) if status.st_size <= most else b""
            if max(status.st_size, len(content)) > most:
                size = max(status.st_size, len(content))
                raise DriftduelError(
                    f"cannot read {name!r}: it has {size:,} bytes, more than the {most:,} that "
                    f"such a file may have."
                )
            return content
    except OSError as error:
        raise DriftduelError(f"cannot read {name!r}: {error.strerror or error}.") from None
    except ValueError as error:
        if isinstance(error, DriftduelError):
            raise
        raise DriftduelError(f"{name!r} cannot be the name of a file.") from None


def _what_it_is(status: os.stat_result) -> str:
    if stat.S_ISDIR(status.st_mode):
        return "it is a folder, not a file"
    return "it is a pipe or a device, not a regular file"


def read_text(path: str | Path, most: int = MOST_TEXT) -> str:
    """Return the text of a regular file in UTF-8, with or without a byte order mark."""
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DriftduelError(f"{str(path)!r} is not a text file in UTF-8.") from None


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; raise if it is invalid or nested too deeply.

    NaN and infinities, which are not part of JSON, are refused.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise DriftduelError("the JSON in it is nested too deeply.") from None
    except ValueError as error:
        if isinstance(error, DriftduelError):
            raise
        raise DriftduelError(f"the JSON in it cannot be read ({error}).") from None


def _refuse(word: str) -> NoReturn:
    raise DriftduelError(f"the JSON in it has {word} where a number must be.")


def arrays(content: bytes, most: int = MOST_BYTES) -> "dict[str, NDArray[Any]]":
    """Return the arrays of an NPZ file by name, if they hold plain numbers or text.

    Parameters
    ----------
    content
        The content of the file, see `read_bytes`.
    most
        The largest total size of the arrays, in bytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > most:
                raise DriftduelError(
                    f"its arrays would take {size:,} bytes, more than the {most:,} that such a "
                    f"file may hold."
                )
            if len(members) > _MOST_ARRAYS:
                raise DriftduelError(f"it holds {len(members):,} arrays; no such file has more "
                                     f"than {_MOST_ARRAYS:,}.")  # fmt: skip
            arrays: dict[str, NDArray[Any]] = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name == member.filename or name in arrays:
                    raise DriftduelError(f"it holds {member.filename!r}, which is no array.")
                # The other compression methods would unpack without a limit.
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise DriftduelError(f"{name!r} is packed in a way that NPZ files are not.")
                arrays[name] = _array(name, archive.read(member))
            return arrays
    except DriftduelError:
        raise
    except MemoryError:
        raise
    except (
        Exception
    ) as error:  # zlib, zipfile, struct, ...: a dozen exception classes for one reason
        reason = str(error).partition("\n")[0] or "it ends too early"
        raise DriftduelError(f"it is damaged, or no NPZ file ({reason}).") from None


def _array(name: str, content: bytes) -> "NDArray[Any]":
    """Return one array; the size in its header must equal the number of bytes that follow."""
    import numpy as np

    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise DriftduelError(f"{name!r} is no array of plain numbers or text.")
    shape, fortran, kind = readers[version](file)
    if kind.kind not in _KINDS or kind.itemsize == 0:
        raise DriftduelError(f"{name!r} is no array of plain numbers or text.")
    count = math.prod(shape)
    if min(shape, default=1) < 0 or count * kind.itemsize != len(content) - file.tell():
        raise DriftduelError(
            f"{name!r} is damaged: its header has {shape} of {kind}, and "
            f"{len(content) - file.tell():,} bytes follow."
        )
    flat = np.frombuffer(content, kind, count, file.tell())
    _check_letters(name, flat)
    shaped = flat.reshape(shape, order="F" if fortran else "C")
    return np.array(shaped, dtype=kind.newbyteorder("="), order="C")


def _check_letters(name: str, flat: "NDArray[np.generic]") -> None:
    """Raise for invalid code points, which numpy would detect too late."""
    if flat.dtype.kind == "U":
        letters = flat.view(flat.dtype.byteorder.replace("|", "=") + "u4")
        if letters.size and letters.max() > 0x10FFFF:
            raise DriftduelError(f"{name!r} is damaged: it has invalid code points.")
