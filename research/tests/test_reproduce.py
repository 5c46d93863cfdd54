"""A small version of `make reproduce`: the published numbers, with few games, and its verdicts."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.games import trace
from tests.scripts import ROOT


@pytest.fixture(scope="module")
def reproduce():
    from research.benchmarks import reproduce

    return reproduce


@pytest.mark.skipif(not jit_enabled(), reason="hundreds of games are for compiled code")
@pytest.mark.long
@pytest.mark.parametrize("only", ["linear-order", "cyclic", "geometric-btl", "rounds=100000,"])
def test_published_numbers(tmp_path, only):
    out = tmp_path / "table.json"
    command = [sys.executable, "-m", "research.benchmarks.reproduce", "--quick", "--only", only]
    command += ["--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    records = json.loads(out.read_text())
    assert len(records) >= 4
    assert [record for record in records if record["verdict"] == "MISS"] == []


@pytest.mark.parametrize(
    ("world", "opponent", "starts"),
    [
        ("saha-gupta-switching:rounds=270,arms=4,phases=4", "phase", [1, 91, 181]),
        ("saha-gupta-static:rounds=200,arms=3,sd=0.05", "never", [1]),
        ("saha-gupta-continuous:rounds=200,arms=3", "round", range(1, 201)),
    ],
)
def test_their_regret_is_computed_from_the_game_that_is_played(reproduce, world, opponent, starts):
    row = reproduce.Row("rex3", world, (0,), None, 1, "", opponent=opponent)
    played = trace("rex3", world, seed=3)
    won = np.zeros((len(starts), played.world.arms))
    for t in range(1, len(played) + 1):
        P = played.world.preferences(t).matrix
        stretch = sum(first <= t for first in starts) - 1
        won[stretch] += (P[:, played.first[t - 1]] + P[:, played.second[t - 1]] - 1) / 2
    assert reproduce.regret_of(row, 3) == pytest.approx(won.max(axis=1).sum())


def test_a_verdict_is_its_rule(reproduce):
    """20 values of sd 1 around 0: the mean of 10 more lies within 2.093 sqrt(1/20 + 1/10)."""
    values = np.tile([-1.0, 1.0], 10)
    values *= np.sqrt(19 / 20)
    few = reproduce.Row("uniform", "", (-0.80,), None, 20, "")
    assert reproduce.judge(few, values)["margin"] == pytest.approx(0.8106, abs=1e-4)
    for published, verdict in ((-0.80, "ok"), (0.80, "ok"), (-0.82, "MISS"), (0.82, "MISS")):
        assert reproduce.judge(replace(few, published=(published,)), values)["verdict"] == verdict
    many = replace(few, published=(90.0, 100.0), tolerance=0.1)  # 81 to 110, and 0.468 around ours
    for mean, verdict in (
        (80.4, "MISS"), (80.6, "ok within its interval"), (81.1, "ok"), (109.9, "ok"),
        (110.4, "ok within its interval"), (110.6, "MISS"),
    ):  # fmt: skip
        assert reproduce.judge(many, values + mean)["verdict"] == verdict
