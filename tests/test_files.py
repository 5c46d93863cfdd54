"""Files appear whole or not at all, and what is called finished is on the disk."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from driftduel._internal import files
from driftduel._internal.files import atomic_write, durable_folder
from driftduel.errors import DriftduelError


@pytest.fixture
def disk(monkeypatch):
    """Write down what is asked of the disk, in order, by the names that things have then."""
    done = []
    fsync, replace, mkdir = os.fsync, Path.replace, Path.mkdir

    def synced(handle):
        done.append(("sync", Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    def replaced(path, target):
        done.append(("replace", path, Path(target)))
        return replace(path, target)

    def made(path, *arguments, **more):
        done.append(("make", path))
        mkdir(path, *arguments, **more)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    monkeypatch.setattr(Path, "mkdir", made)
    return done


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")


@needs_proc
def test_content_is_on_the_disk_before_the_name_is_and_the_name_before_it_is_said(tmp_path, disk):
    with atomic_write(tmp_path / "f") as temporary:
        temporary.write_text("all of it")
        assert disk == []
    assert disk == [
        ("sync", temporary),
        ("replace", temporary, tmp_path / "f"),
        ("sync", tmp_path),
    ]
    assert (tmp_path / "f").read_text() == "all of it"


@needs_proc
def test_scratch_is_not_waited_for(tmp_path, disk):
    with atomic_write(tmp_path / "f", lasting=False) as temporary:
        temporary.write_text("all of it")
    assert disk == [("replace", temporary, tmp_path / "f")]


@needs_proc
def test_a_new_folder_is_on_the_disk_and_so_are_those_it_is_in(tmp_path, disk):
    durable_folder(tmp_path / "a" / "b")
    assert disk == [
        ("make", tmp_path / "a"),
        ("sync", tmp_path),
        ("make", tmp_path / "a" / "b"),
        ("sync", tmp_path / "a"),
    ]
    disk.clear()
    durable_folder(tmp_path / "a" / "b")
    assert disk == []


@needs_proc
def test_a_store_syncs_what_it_calls_finished_and_no_scratch(tmp_path, disk):
    pytest.importorskip("polars")
    from driftduel.lab import Store, make_plan
    from driftduel.lab.cells import run_cell

    plan = make_plan(["two-arm:rounds=20"], ["uniform"], 2)
    first, second = plan.cells()
    rows = [run_cell(first).row]
    disk.clear()  # what was compiled for it may have been written, too
    store = Store.create(tmp_path / "s", plan)
    places = [what[-1] for what in disk if what[0] != "make"]
    assert places[0] == tmp_path  # the folder itself
    assert places[-2:] == [tmp_path / "s" / "plan.json", tmp_path / "s"]
    disk.clear()
    store.add(rows)
    (file,) = (tmp_path / "s" / "cells").iterdir()
    assert [what[0] for what in disk] == ["sync", "replace", "sync"]
    assert [what[-1] for what in disk[1:]] == [file, file.parent]
    disk.clear()
    store.fail(second, "a note about what will be tried again")
    scratch = Store.create(tmp_path / "scratch", plan, scratch=True)
    scratch.add(rows)
    assert [what[-1] for what in disk if what[0] == "sync"] == [tmp_path]  # the folder's name


def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path):
    (tmp_path / "f").write_text("before")

    def fails():
        with atomic_write(tmp_path / "f") as temporary:
            temporary.write_text("half of")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_text() == "before"
    assert not files._unfinished


@pytest.mark.parametrize("name", ["gone/f", "file/f", "folder"])
def test_where_nothing_can_be_written(name, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(DriftduelError, match=f"cannot write .*{name}"),
        atomic_write(tmp_path / name) as temporary,
    ):
        temporary.write_text("x")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_disk_that_cannot_keep_it_is_said(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(DriftduelError, match=r"cannot write .*: No space left on device"),
        atomic_write(tmp_path / "f") as temporary,
    ):
        temporary.write_text("x")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folders_fail(monkeypatch):
    """Have every attempt to sync a folder fail, in a way that is given."""
    fsync = os.fsync

    def fail(number):
        def only_files(handle):
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                raise OSError(number, os.strerror(number))
            fsync(handle)

        monkeypatch.setattr(os, "fsync", only_files)

    return fail


def test_folders_that_cannot_be_synced_do_no_harm(tmp_path, folders_fail):
    folders_fail(errno.EINVAL)
    with atomic_write(tmp_path / "f") as temporary:
        temporary.write_text("x")
    assert (tmp_path / "f").read_text() == "x"


def test_a_name_that_the_disk_cannot_keep_is_said(tmp_path, folders_fail):
    folders_fail(errno.EIO)
    with (
        pytest.raises(DriftduelError, match=r"cannot write .*: Input/output error"),
        atomic_write(tmp_path / "f") as temporary,
    ):
        temporary.write_text("x")


@pytest.mark.skipif(os.name == "nt", reason="needs a umask")
@pytest.mark.parametrize("mask", [0o077, 0o002, 0o022])
def test_who_may_read_it_is_what_the_umask_says(mask, tmp_path):
    before = os.umask(mask)
    try:
        with atomic_write(tmp_path / "f") as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o666 & ~mask


def test_a_folder_whose_name_is_none():
    with pytest.raises(DriftduelError, match=r"'a\\x00b' cannot be the name of a folder"):
        durable_folder("a\0b")


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    (tmp_path / "f").write_text("before")
    (tmp_path / "f").chmod(0o640)
    with atomic_write(tmp_path / "f") as temporary:
        temporary.write_text("after")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640


def test_the_longest_name_can_be_written(tmp_path):
    with atomic_write(tmp_path / ("x" * 255)) as temporary:
        temporary.write_text("y")
    assert [p.name for p in tmp_path.iterdir()] == ["x" * 255]


@pytest.mark.skipif(os.name == "nt", reason="needs a pipe")
def test_pipes_devices_and_names_that_are_none_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for name in (tmp_path / "fifo", os.devnull, "a\0b", tmp_path / ("x" * 5000)):
        with pytest.raises(DriftduelError), atomic_write(name):
            pytest.fail("nothing can be written there")
    assert [p.name for p in tmp_path.iterdir()] == ["fifo"]
    assert (tmp_path / "fifo").is_fifo()


TWICE = """
import sys
from pathlib import Path
from driftduel._internal.files import atomic_write

unlink = Path.unlink

def interrupted(path, *arguments, **more):
    Path.unlink = unlink
    raise KeyboardInterrupt("once more, while cleaning up")

with atomic_write(sys.argv[1]) as temporary:
    temporary.write_text("half of")
    Path.unlink = interrupted
    raise KeyboardInterrupt
"""


def test_a_second_interrupt_while_cleaning_up_leaves_nothing_either(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", TWICE, str(tmp_path / "f")], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "KeyboardInterrupt: once more" in ended.stderr
    assert list(tmp_path.iterdir()) == []
