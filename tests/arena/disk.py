"""A disk that forgets what was not synced when the power fails, under SQLite as Python has it.

SQLite talks to files through a table of functions, its VFS. Ours passes every call on to the one
that was there, and keeps two things apart: what was synced, and what was only written since. So at
any moment it can tell what a loss of power would leave: all that was synced, and of the rest
whatever luck has it. Names are kept apart in the same way: a file that was made or removed is so
for good when its folder was synced, which SQLite does with the first sync of a journal that it has
just opened. A sync that fails loses what it was to write, as on Linux. All this is called through
ctypes, so nothing has to be compiled, and the code under test is the code that users run: Python's
sqlite3.
"""

import ctypes
import os
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p, cast
from pathlib import Path

import pytest

OK, FULL, IOERR_FSYNC = 0, 13, 1034
#: What SQLite says when it opens a file: it may be made, and it is a journal of one of three kinds.
CREATE, JOURNALS = 0x4, 0x800 | 0x4000 | 0x80000

Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
Delete = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
Close = CFUNCTYPE(c_int, c_void_p)
Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
Sync = CFUNCTYPE(c_int, c_void_p, c_int)


class Vfs(Structure):
    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", Open),
        ("delete", Delete),
        ("rest", c_void_p * 14),
    ]


class Methods(Structure):
    _fields_ = [
        ("version", c_int),
        ("close", Close),
        ("read", c_void_p),
        ("write", Write),
        ("truncate", Truncate),
        ("sync", Sync),
        ("rest", c_void_p * 13),
    ]


class File(Structure):
    _fields_ = [("methods", POINTER(Methods))]


def library():
    """Return the SQLite that Python's module uses, if it can be reached."""
    import _sqlite3

    try:
        library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
        library.sqlite3_vfs_find.restype = POINTER(Vfs)
        library.sqlite3_vfs_find.argtypes = [c_char_p]
        library.sqlite3_vfs_register.argtypes = [POINTER(Vfs), c_int]
        library.sqlite3_vfs_unregister.argtypes = [POINTER(Vfs)]
    except (AttributeError, OSError):
        pytest.skip("this Python hides its SQLite: no file layer can be put under it")
    return library


class Disk:
    """What files in a folder hold for good, and what they were told since.

    `event` is called before each write, sync, truncation and deletion; whoever sets `fail` to
    {"write": code} has all of these fail.
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.synced = {}  # name -> content
        self.pending = {}  # name -> changes since
        self.names, self.named = set(), set()  # now, and for good
        self.event = lambda what, name: None
        self.fail = {}
        self.counts = {"write": 0, "truncate": 0, "sync": 0, "delete": 0}

    def left(self, lucky):
        """Return the files after a loss of power; `lucky` says of an unsynced change if it held."""
        files = {}
        for name in sorted(self.names | self.named):
            if (name in self.names) == (name in self.named) or (name in self.names) == lucky():
                changes = [change for change in self.pending.get(name, ()) if lucky()]
                files[name] = bytes(_done(self.synced.get(name, b""), changes))
        return files

    def _name(self, path):
        path = Path(os.fsdecode(path))
        inside = path.parent == self.folder
        return path.name if inside and not path.name.endswith("-shm") else None

    def _opened(self, name):
        if name not in self.names:
            self.names.add(name)
            # A new file of an old name has nothing of the old one.
            self.synced[name], self.pending[name] = bytearray(), []

    def _before(self, what, name):
        self.event(what, name)
        self.counts[what] += 1
        return self.fail.get(what, OK)

    def _sync(self, name, *, failed=False, folder=False):
        if not failed:
            self.synced[name] = _done(self.synced[name], self.pending[name])
            if folder:
                self.named = set(self.names)
        self.pending[name] = []


def _done(content, changes):
    """Return what a file holds after changes: (offset, bytes) for a write, or a size."""
    content = bytearray(content)
    for change in changes:
        if isinstance(change, int):
            del content[change:]
        else:
            offset, data = change
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data
    return content


@contextmanager
def installed(folder):
    """Put the disk under whatever SQLite opens in this folder from now on."""
    sqlite = library()
    assert not os.listdir(folder)
    below = sqlite.sqlite3_vfs_find(None)
    disk, names, kept, new_journals = Disk(folder), {}, {}, set()

    def methods_over(original):
        """Return methods that tell the disk, and then do what the original ones do."""
        address = ctypes.addressof(original.contents)
        if address not in kept:
            old, new = original.contents, Methods()
            ctypes.memmove(ctypes.byref(new), original, ctypes.sizeof(Methods))

            def write(file, data, amount, offset):
                name = names[file]
                if code := disk._before("write", name):
                    return code
                if (code := old.write(file, data, amount, offset)) == OK:
                    disk.pending[name].append((offset, ctypes.string_at(data, amount)))
                return code

            def truncate(file, size):
                name = names[file]
                if code := disk._before("truncate", name):
                    return code
                if (code := old.truncate(file, size)) == OK:
                    disk.pending[name].append(size)
                return code

            def sync(file, flags):
                name = names[file]
                code = disk._before("sync", name)
                # The real disk need not be asked: nothing here depends on it.
                disk._sync(name, failed=code != OK, folder=file in new_journals)
                new_journals.discard(file)
                return code

            def close(file):
                code = old.close(file)
                names.pop(file, None)
                new_journals.discard(file)
                return code

            new.write, new.truncate = Write(write), Truncate(truncate)
            new.sync, new.close = Sync(sync), Close(close)
            kept[address] = new
        return ctypes.pointer(kept[address])

    def open_(_, name, file, flags, out):
        code = below.contents.open(cast(below, c_void_p), name, file, flags, out)
        known = disk._name(ctypes.string_at(name)) if name else None
        opened = cast(file, POINTER(File)).contents
        if code == OK and known is not None and opened.methods:
            names[file] = known
            disk._opened(known)
            if flags & CREATE and flags & JOURNALS:
                new_journals.add(file)
            opened.methods = methods_over(opened.methods)
        return code

    def delete(_, path, wait_durable):
        name = disk._name(path)
        if name is not None and (code := disk._before("delete", name)):
            return code
        code = below.contents.delete(cast(below, c_void_p), path, wait_durable)
        if code == OK and name is not None:
            disk.names.discard(name)
            if wait_durable:
                disk.named = set(disk.names)
        return code

    ours = Vfs()
    ctypes.memmove(ctypes.byref(ours), below, ctypes.sizeof(Vfs))
    ours.name, ours.open, ours.delete = b"forgetful", Open(open_), Delete(delete)
    sqlite.sqlite3_vfs_register(ctypes.byref(ours), 1)
    try:
        yield disk
    finally:
        sqlite.sqlite3_vfs_unregister(ctypes.byref(ours))
        sqlite.sqlite3_vfs_register(below, 1)
        assert not names, f"still open: {names}"
