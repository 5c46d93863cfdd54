import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from driftduel.measures import measure
from driftduel.preferences.transitivity import sst_violation, sti_violation
from driftduel.worlds import make_world
from research.study import noise


@pytest.mark.parametrize("every", [0, 1, 7, 100])
@pytest.mark.parametrize("phases", [1, 5])
def test_noise_moves_the_preferences_only(every, phases):
    spec = f"study-noise:rounds=2000,phases={phases},every={every}"
    found = measure(make_world(spec, 0), significance=None)
    assert found.condorcet_switches == phases - 1
    assert found.preference_switches == noise._switches(spec)


def test_noise_is_the_same_however_it_is_cut():
    world = make_world("study-noise:rounds=3000,phases=4,every=7", 0)
    one = np.concatenate([_each(chunk) for chunk in world.chunks(limit=64)])
    assert (one == _each(world.chunk(1, 3001))).all()
    assert world.condorcet_winners() == super(type(world), world).condorcet_winners()


def _each(chunk):
    matrices = chunk.row_matrices()[chunk.rows]
    lengths = np.diff(chunk.starts, append=chunk.end)
    return np.repeat(matrices, lengths, axis=0)


@pytest.mark.parametrize("flips", [0, 3, 15])
def test_flips_are_not_significant(flips):
    found = measure(make_world(f"study-flips:rounds=1000000,severe=3,flips={flips}", 0))
    assert found.condorcet_switches == 3 + 8 * flips
    assert found.significant_switches == 3


@pytest.mark.parametrize("swings", [1, 4])
def test_drift_moves_one_variation_and_leaves_the_other(swings):
    spec = f"study-drift:rounds=40000,swings={swings},noise=16"
    found = measure(make_world(spec, 0), significance=None)
    assert found.condorcet_variation == pytest.approx(0.6 * swings, rel=0.01)
    assert found.total_variation == pytest.approx(0.6 * 16, rel=0.01)
    assert found.condorcet_switches == swings


@pytest.mark.parametrize(
    "spec", ["study-flips:rounds=1000,severe=1,flips=3", "study-drift:rounds=1000,swings=3,noise=8"]
)
def test_transitivity_holds(spec):
    world = make_world(spec, 0)
    for t in range(1, 1001, 37):
        assert sst_violation(world.preferences(t).matrix) is None
        assert sti_violation(world.preferences(t).matrix) is None
