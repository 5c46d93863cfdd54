"""Worlds go to files and come back; files that are no worlds are refused without running code."""

import pickle
import zipfile

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.preferences import lone_winner, named
from driftduel.worlds import Piecewise, load_world, make_world, save_world


@pytest.mark.parametrize(
    "spec",
    ["geometric-btl:rounds=1000,phases=5", "alternating:rounds=50", "seasonal:arms=3,rounds=60",
     "random-walk:arms=3,rounds=40", "saha-gupta-switching:rounds=90",
     "sleeping:arms=4,rounds=90,events=30,ties=0.3", "seasonal:arms=3,rounds=60,ties=0.2",
     "retire-best:arms=4,rounds=90,times=3", "two-arm:rounds=60,delay=5"],
)  # fmt: skip
def test_a_world_comes_back_as_it_was(spec, tmp_path):
    world = make_world(spec)
    save_world(world, tmp_path / "world.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["world.npz"]
    back = make_world(f"file:path={tmp_path / 'world.npz'}")
    assert (back.arms, back.rounds) == (world.arms, world.rounds)
    assert back.chunk(1, 2).delay == world.chunk(1, 2).delay
    for t in range(1, world.rounds + 1, max(1, world.rounds // 50)):
        np.testing.assert_array_equal(back.preferences(t).matrix, world.preferences(t).matrix)
        assert back.present(t) == world.present(t)
        np.testing.assert_array_equal(back.chunk(t, t + 1).ties[:1], world.chunk(t, t + 1).ties[:1])


def test_csv_with_and_without_header(tmp_path):
    matrix = named("cyclic").matrix
    rows = "\n".join(",".join(map(str, row)) for row in matrix.tolist())
    for text in (rows, "a,b,c,d\n" + rows + "\n", "\ufeff" + rows.replace("\n", "\r\n")):
        (tmp_path / "m.csv").write_text(text, encoding="utf-8", newline="")
        world = make_world(f"file:path={tmp_path / 'm.csv'},rounds=1e9")
        assert world.rounds == 10**9
        np.testing.assert_array_equal(world.preferences(5).matrix, matrix)


def write_npz(path, **arrays):
    np.savez(path, **arrays)
    return path


GOOD = {"matrices": lone_winner(2).matrix[None], "starts": [1], "rounds": 10}


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({**GOOD, "matrices": [[[0.5, 0.6], [0.5, 0.5]]]}, "P[0,1]"),
        ({**GOOD, "matrices": [[[0.5]]]}, "arm"),
        ({**GOOD, "matrices": [[0.5, 0.5]]}, "must be (S, K, K)"),
        ({**GOOD, "starts": [3]}, "must start in 1"),
        ({**GOOD, "rounds": 0}, "rounds=0"),
        ({**GOOD, "rounds": 2.5}, "whole number"),
        ({**GOOD, "rounds": 1e300}, "must be at most 1,000,000,000,000,000"),
        ({"matrices": GOOD["matrices"], "starts": [1]}, "no array 'rounds'"),
        ({"matrices": GOOD["matrices"], "rounds": 5}, "no array 'starts'"),
        ({**GOOD, "matrices": [[[0.5, np.nan], [0.4, 0.5]]]}, "nan"),
        ({**GOOD, "present": [[1, 1, 1]]}, "an array (1, 2); its shape is (1, 3)"),
        ({**GOOD, "present": [[1, 2]]}, "present must be 0 or 1"),
        ({**GOOD, "present": [[0, 0]]}, "no arm is present in phase 1"),
        ({**GOOD, "ties": [0.1, 0.1]}, "ties must be a number at least 0 and below 1 for each"),
        ({**GOOD, "ties": [np.nan]}, "ties must be a number at least 0 and below 1 for each"),
        ({**GOOD, "ties": [0.9]}, "preferences lie between s/2 and 1 - s/2"),
        ({**GOOD, "delay": 2.5}, "delay=2.5 must be one whole number"),
        ({**GOOD, "delay": -1}, "delay=-1 must be a whole number from 0 to 1,000,000"),
    ],
)
def test_bad_npz_gets_one_sentence(arrays, said, tmp_path):
    path = write_npz(tmp_path / "w.npz", **arrays)
    with pytest.raises(DriftduelError) as error:
        load_world(str(path))
    assert said in str(error.value)
    assert "w.npz" in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5,0.6\n0.4\n", "line 2 has 1 numbers where 2 are needed"),
        ("0.5,x\n0.4,0.5\n", "line 1 has 'x'"),
        ("0.5\n", "arm"),
        ("", "no rows of numbers"),
        ("0.5;0.7\n0.3;0.5\n", "line 1 has '0.5;0.7'"),
        ("0.5,0.6\n0.6,0.5\n", "P[0,1]"),
    ],
)
def test_bad_csv_gets_one_sentence(text, said, tmp_path):
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(DriftduelError) as error:
        load_world(str(tmp_path / "m.csv"), rounds=10)
    assert said in str(error.value)


def test_a_matrix_without_rounds_is_refused(tmp_path):
    (tmp_path / "m.csv").write_text("0.5,0.6\n0.4,0.5\n")
    with pytest.raises(DriftduelError, match="rounds=T"):
        load_world(str(tmp_path / "m.csv"))


def test_unreadable_files(tmp_path):
    with pytest.raises(DriftduelError, match="cannot read"):
        load_world(str(tmp_path / "none.npz"))
    with pytest.raises(DriftduelError, match="cannot read"):
        load_world(str(tmp_path))
    (tmp_path / "b.csv").write_bytes(b"\x80\x81 not a world")
    with pytest.raises(DriftduelError, match="neither"):
        load_world(str(tmp_path / "b.csv"), rounds=3)


def test_broken_npz_files_are_called_broken(tmp_path):
    good = tmp_path / "good.npz"
    np.savez(good, **GOOD)
    evil = tmp_path / "evil.npz"
    with zipfile.ZipFile(evil, "w") as archive:
        for name in ("matrices", "starts", "rounds"):
            archive.writestr(f"{name}.npy", b"junk")
    (tmp_path / "short.npz").write_bytes(good.read_bytes()[:300])
    (tmp_path / "empty.npz").write_bytes(b"")
    np.save(tmp_path / "plain.npy", np.zeros(3))
    (tmp_path / "plain.npy").rename(tmp_path / "plain.npz")
    for name in ("evil", "short", "empty", "plain"):
        with pytest.raises(DriftduelError) as error:
            load_world(str(tmp_path / f"{name}.npz"), rounds=5)
        assert "NPZ" in str(error.value)
        assert "\n" not in str(error.value)


def test_worlds_are_written_as_npz_only(tmp_path):
    with pytest.raises(DriftduelError, match="has another suffix"):
        save_world(Piecewise([lone_winner(2)], [1], 5), tmp_path / "w.foo")


def test_reading_never_runs_code(tmp_path):
    mark = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (mark.write_text, ("ran",))

    objects = np.empty(1, dtype=object)
    objects[0] = Bomb()
    np.savez(tmp_path / "w.npz", **{**GOOD, "starts": objects}, allow_pickle=True)
    mark.unlink(missing_ok=True)
    with pytest.raises(DriftduelError, match="without pickles"):
        load_world(str(tmp_path / "w.npz"))
    (tmp_path / "p.npz").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DriftduelError):
        load_world(str(tmp_path / "p.npz"), rounds=3)
    assert not mark.exists()


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("driftduel.worlds.files._MOST_NUMBERS", 100_000)
    with pytest.raises(DriftduelError, match="cannot write"):
        save_world(Piecewise([lone_winner(2)], [1], 5), tmp_path / "no" / "w.npz")
    huge = make_world("saha-gupta-static:arms=10,rounds=10000")
    with pytest.raises(DriftduelError, match="changes too often"):
        save_world(huge, tmp_path / "w.npz")
    assert list(tmp_path.iterdir()) == []
