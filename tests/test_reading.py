"""Users' files are read only if they are regular, bounded and without pickles."""

import io
import json
import os
import struct
import zipfile
import zlib

import numpy as np
import pytest

from driftduel._internal.reading import MOST_BYTES, arrays, parse_json, read_bytes, read_text
from driftduel.errors import DriftduelError


def packed(compressed=False, **content):
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **content)
    return file.getvalue()


GOOD = {
    "matrices": np.arange(12.0).reshape(3, 2, 2),
    "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "foreign": np.arange(4, dtype=">i4"),
    "flags": np.array([True, False]),
    "text": np.array("größe \U0001f600"),
    "none": np.zeros((0, 3)),
    "one": np.int64(7),
}


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_come_back_as_numpy_wrote_them(compressed):
    found = arrays(packed(compressed, **GOOD))
    assert list(found) == list(GOOD)
    for name, array in found.items():
        assert array.dtype.isnative
        assert array.flags.c_contiguous
        assert array.flags.writeable
        np.testing.assert_array_equal(array, GOOD[name])


def member(content, name="a.npy", method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def npy(shape, descr="<f8", body=b""):
    file = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + body


def objects():
    file = io.BytesIO()
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "damaged, or no NPZ file"),
        (packed(a=np.zeros(9))[:-30], "damaged, or no NPZ file"),
        (member(npy((10**15,))), "0 bytes follow"),
        (member(npy((2, -1), body=bytes(16))), "16 bytes follow"),
        (member(npy((10**18,), "<U0")), "no array of plain numbers or text"),
        (member(npy((3,), body=bytes(23))), "23 bytes follow"),
        (member(npy((3,), body=bytes(25))), "25 bytes follow"),
        (member(npy((1,), "<U1", b"\xff" * 4)), "invalid code points"),
        (member(npy((1,), "<U1", b"\x00\x00\x11\x00")), "invalid code points"),
        (packed(a=np.zeros(1), b=np.ones(1)).replace(b"b.npy", b"a.npy"), "'a.npy', which is no"),
        (member(npy((1,), "<c16", bytes(16))), "no array of plain"),
        (member(objects()), "no array of plain"),
        (member(b"\x93NUMPY\x03\x00"), "no array of plain"),
        (member(b"junk"), "damaged"),
        (member(npy((1,), body=bytes(8)), "a.txt"), "'a.txt', which is no array"),
        (member(npy((1,), body=bytes(8)), method=zipfile.ZIP_BZIP2), "packed in a way"),
        (member(npy((1,), body=bytes(8)), method=zipfile.ZIP_LZMA), "packed in a way"),
    ],
)
def test_no_npz_gets_one_sentence(content, said):
    with pytest.raises(DriftduelError) as error:
        arrays(content)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_any_damage_is_refused_or_harmless():
    """Whatever byte is changed, what comes back is arrays of plain numbers, or one sentence."""
    rng = np.random.default_rng(1)
    whole = [packed(compressed, **GOOD) for compressed in (False, True)]
    refused = 0
    for trial in range(400):
        content = bytearray(whole[trial % 2])
        for place in rng.integers(len(content), size=rng.integers(1, 4)):
            content[place] = rng.integers(256)
        if rng.random() < 0.2:
            content = content[: rng.integers(len(content))]
        try:
            found = arrays(bytes(content))
        except DriftduelError as error:
            refused += 1
            several = "\n" in str(error)
        else:
            several = False
            assert all(array.dtype.kind in "biufU" for array in found.values())
        assert not several
    assert refused > 100


def test_a_bomb_is_not_unpacked(monkeypatch):
    """The directory says what would come out; if it lies, no more than it says does."""
    body = npy((1 << 18,), "|b1", bytes(1 << 18))
    bomb = member(body, method=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1500
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(
        DriftduelError, match=f"would take {len(body):,} bytes, more than the 65,536"
    ):
        arrays(bomb, most=1 << 16)
    with pytest.raises(DriftduelError, match=f"more than the {len(body) - 1:,}"):
        arrays(bomb, most=len(body) - 1)
    monkeypatch.undo()
    assert len(arrays(bomb, most=len(body))["a"]) == 1 << 18
    lying = bytearray(bomb)
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", lying, lying.index(mark) + place, 500)
    with pytest.raises(DriftduelError, match="damaged"):
        arrays(bytes(lying), most=1 << 16)
    checksum = zlib.crc32(body[:500])
    for mark, place in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        struct.pack_into("<I", lying, lying.index(mark) + place, checksum)
    with pytest.raises(DriftduelError, match="bytes follow"):
        arrays(bytes(lying), most=1 << 16)


def test_thousands_of_arrays_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for i in range(1001):
            archive.writestr(f"{i}.npy", b"")
    with pytest.raises(DriftduelError, match="it holds 1,001 arrays"):
        arrays(file.getvalue())


@pytest.mark.parametrize("name", ["/dev/zero", "fifo", ".", "none/none", "a\0b", "x" * 5000])
def test_only_regular_files_are_read(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    with pytest.raises(DriftduelError) as error:
        read_bytes(name)
    assert repr(name) in str(error.value)


def test_large_files_are_not_read(tmp_path):
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(MOST_BYTES + 1)  # a hole: it takes no room
    with pytest.raises(DriftduelError, match="it has 1,073,741,825 bytes"):
        read_bytes(path)
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(DriftduelError, match="more than the 4 that"):
        read_bytes(path, 4)


def test_a_file_that_does_not_say_its_size_is_bounded():
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("no such file here")
    assert len(read_bytes("/proc/self/maps")) > 100  # its size is said to be 0
    with pytest.raises(DriftduelError, match="more than the 100 that"):
        read_bytes("/proc/self/maps", 100)


def test_text_is_utf8(tmp_path):
    path = tmp_path / "t"
    path.write_bytes("\ufeffgrün".encode())
    assert read_text(path) == "grün"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DriftduelError, match="not a text file in UTF-8"):
        read_text(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a": NaN}', "has NaN where a number"),
        ("[-Infinity]", "has -Infinity"),
        ("{", "cannot be read"),
        ("1" * 5000, "cannot be read"),
        (b"\xff\xff\xff", "cannot be read"),
    ],
)
def test_json_that_is_none(text, said):
    with pytest.raises(DriftduelError) as error:
        parse_json(text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_json_is_read():
    assert parse_json(json.dumps({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}
