"""Small valid files of every accepted type, and broken ones made of them."""

import struct
import zlib
from random import Random


def png(width=3, height=2):
    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = zlib.compress((b"\0" + b"\x40\x80\xc0" * width) * height)
    size = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(kind, data) for kind, data in ((b"IHDR", size), (b"IDAT", rows), (b"IEND", b""))
    )


def gif():
    return (
        b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0"
        b"\x02\x02D\x01\0;"
    )


def jpeg():
    def segment(marker, data):
        return bytes((0xFF, marker)) + struct.pack(">H", len(data) + 2) + data

    frame = struct.pack(">BHHB", 8, 2, 3, 1) + b"\x01\x11\0"
    return (
        b"\xff\xd8" + segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0") + segment(0xC0, frame)
        + segment(0xDA, b"\x01\x01\0\0\x3f\0") + b"\x12\x34\xff\xd9"
    )  # fmt: skip


def riff(form, *chunks):
    body = form + b"".join(
        kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
        for kind, data in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav():
    header = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    return riff(b"WAVE", (b"fmt ", header), (b"data", b"\x80" * 80))


FILES = {
    "image/png": png(),
    "image/gif": gif(),
    "image/jpeg": jpeg(),
    "image/webp": riff(b"WEBP", (b"VP8L", b"\x2f\0\0\0\0\x07\x10\x11\x11\x88\x88\x08")),
    "audio/wav": wav(),
    "audio/ogg": b"OggS\0\x02" + bytes(80),
    "audio/flac": b"fLaC\0\0\0\x22" + bytes(80),
    "audio/mp4": b"\0\0\0\x18ftypM4A " + bytes(80),
    "audio/webm": b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm" + bytes(80),
    "audio/mpeg": b"\xff\xfb\x90\x64" + bytes(80),
}
"""A file of each type; the compressed formats of audio begin as such files do."""
HOSTILE = (
    b"<script>alert(1)</script>",
    b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    b"GIF89a=1;alert(1)//",
    b"<!--\xff\xd8\xff-->",
    b"%PDF-1.4 alert(1)",
    b"\x89PNG\r\n\x1a\n<script>alert(1)</script>",
    b"",
)


def broken(count, seed=0):
    """Yield damaged files: cut, with changed bytes, with HTML inside or behind, or foreign."""
    random = Random(seed)
    files = list(FILES.values())
    for number in range(count):
        data = bytearray(random.choice(files))
        way = number % 6
        if way == 0:
            del data[random.randrange(len(data)) :]
        elif way == 1:
            for _ in range(random.randint(1, 8)):
                data[random.randrange(len(data))] = random.randrange(256)
        elif way == 2:
            place = random.randrange(len(data) + 1)
            data[place:place] = random.choice(HOSTILE)
        elif way == 3:
            data = bytearray(random.choice(HOSTILE)) + data
        elif way == 4:
            data += random.choice(HOSTILE)
        else:
            data = bytearray(random.choice(HOSTILE) + random.randbytes(random.randrange(200)))
        yield bytes(data)
