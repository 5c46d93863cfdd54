"""Every named world is valid, seeded, and does what its keys say."""

import signal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftduel.errors import DriftduelError
from driftduel.preferences import geometric_btl
from driftduel.worlds import WORLDS, make_world, phase_starts

NAMES = [entry.name for entry in WORLDS if entry.name not in ("file", "log", "preflib", "table")]
SEEDED = [
    e.name for e in WORLDS if any(p.name == "seed" for p in e.parameters) and e.name != "table"
]
PHASED = ["geometric-btl", "total-order", "random-condorcet", "utilities"]


def same(one, other):
    return all(
        np.array_equal(one.preferences(t).matrix, other.preferences(t).matrix)
        and one.present(t) == other.present(t)
        for t in range(1, one.rounds + 1, max(1, one.rounds // 20))
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_world_has_valid_matrices_and_a_line_of_help(name):
    world = make_world(f"{name}:rounds=200")
    assert world.rounds == 200
    for t in (1, 2, 100, 199, 200):
        assert world.preferences(t).arms == world.arms
    entry = WORLDS[name]
    assert entry.summary.endswith(".")
    assert all(parameter.help for parameter in entry.parameters)


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_fixes_a_world_completely(name):
    keys = {parameter.name for parameter in WORLDS[name].parameters}
    spec = f"{name}:rounds=100" + (",arms=5" if "arms" in keys else "")
    assert same(make_world(spec, seed=3), make_world(f"{spec},seed=3"))
    if name not in ("lone-winner", "cycle"):
        assert not same(make_world(spec, seed=3), make_world(spec, seed=4))


@pytest.mark.parametrize("name", PHASED)
@pytest.mark.parametrize("lengths", ["equal", "random", "uneven"])
def test_change_says_what_happens_to_the_winner(name, lengths):
    spec = f"{name}:arms=4,rounds=1000,phases=12,lengths={lengths}"
    for seed in range(5):
        every = make_world(f"{spec},change=winner", seed)
        assert len(every.condorcet_winners()) == 12
        none = make_world(f"{spec},change=background", seed)
        assert len(none.condorcet_winners()) == 1
        assert len(none.matrices) == 12
        assert all(not np.array_equal(a, b) for a, b in pairwise(none.matrices))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=200)
def test_phases_are_never_empty(rounds, phases, seed):
    rng = np.random.default_rng(seed)
    for lengths in ("equal", "random", "uneven"):
        if phases > rounds:
            with pytest.raises(DriftduelError, match="at most rounds"):
                phase_starts(rounds, phases, lengths, rng)
            continue
        starts = phase_starts(rounds, phases, lengths, rng)
        assert starts[0] == 1
        assert len(starts) == phases
        assert (np.diff(starts) > 0).all()
        assert starts[-1] <= rounds


def test_equal_phases_are_equal_and_uneven_ones_are_not():
    rng = np.random.default_rng(0)
    assert phase_starts(50_000, 4, "equal", rng).tolist() == [1, 12_501, 25_001, 37_501]
    lengths = np.diff(phase_starts(100_000, 5, "uneven", rng), append=100_001)
    assert lengths.max() / lengths.min() > 500


def test_geometric_btl_is_the_published_world():
    """Uniform play loses exactly 0.3737 a round (Suk and Agarwal's world, K = 10)."""
    matrix = make_world("geometric-btl:arms=10").preferences(1).matrix
    winner = make_world("geometric-btl:arms=10").preferences(1).condorcet_winner()
    assert (matrix[winner] - 0.5).mean() == pytest.approx(0.3737, abs=5e-5)


def test_saha_gupta_switches_at_their_rounds():
    world = make_world("saha-gupta-switching:rounds=900,phases=10")
    assert world.starts.tolist() == [1 + 100 * i for i in range(9)]


def test_saha_gupta_switches_have_their_size():
    world = make_world("saha-gupta-switching:arms=60,rounds=100,phases=3,sd=0.01")
    upper = np.triu_indices(60, 1)
    step = (world.matrices[1] - world.matrices[0])[upper]
    assert step.std() == pytest.approx(0.01, rel=0.1)


def test_the_papers_worlds():
    alternating = make_world("alternating:rounds=1000000000")
    assert alternating.preferences(1).matrix[1, 2] == 1
    assert alternating.preferences(999_999_999).matrix[1, 2] == 1
    assert alternating.preferences(1_000_000_000).matrix[1, 2] == 0
    two = make_world("two-arm:rounds=7")
    assert two.condorcet_winners() == [(1, 0), (4, 1)]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("geometric-btl:arms=1", "arms=1 must be a whole number at least 2"),
        ("geometric-btl:rounds=0", "rounds=0 must be a whole number between 1 and 1e15"),
        ("geometric-btl:ratio=nan", "ratio=nan must be a number above 1"),
        ("geometric-btl:rounds=1e30", "rounds=1e30 must be a whole number between 1 and 1e15"),
        ("total-order:p=0.5", "p=0.5 must be a number above 0.5 and at most 1"),
        ("geometrc-btl", "did you mean geometric-btl"),
        ("geometric-btl:phase=3", "did you mean phases"),
        ("geometric-btl:rounds=3,phases=4", "phases=4 must be at most rounds=3"),
        ("named:matrix=six-ranker", "must be one of six-rankers"),
        ("cycle:arms=4", "odd"),
        ("rps-top:arms=2", "arms=2 must be a whole number at least 3"),
        ("clash:arms=4", "arms=4 must be a whole number at least 5"),
        ("clash:narrow=0.7,wide=0.8", "wide must be above 0.833333"),
        ("skew-top:second=0.5", "second=0.5 must be a number above 0.5 and at most 1"),
        ("fleeting:kind=both", "must be one of sst, sti"),
        ("fleeting:rounds=1e4,gamma=30", "gamma=30 must be at most 25 with gaps of 0.01"),
        ("fleeting:kind=sti,rounds=1e4,gamma=51", "gamma=51 must be at most 50 with gaps of 0.01"),
        ("geometric-btl:arms=2,change=background", "only the winner can change"),
    ],
)
def test_bad_specs_get_one_sentence(spec, said):
    with pytest.raises(DriftduelError) as error:
        make_world(spec)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "spec",
    [
        "geometric-btl:arms=1e9",
        "total-order:arms=1e5",
        "lone-winner:arms=1001,phases=100",
        "uniform-random:arms=1e9",
        "cycle:arms=1000001",
        "rps-top:arms=1e9",
        "skew-top:arms=1e9",
        "clash:arms=1e9",
        "mixed:arms=1e9",
        "random-walk:arms=1e9",
        "seasonal:arms=2501",
        "interpolated:arms=1e9",
        "interpolated:arms=30,knots=1e6",
        "saha-gupta-switching:arms=1e9",
        "saha-gupta-static:arms=1e9",
        "saha-gupta-continuous:arms=1e9",
    ],
)
def test_a_world_that_would_not_fit_says_what_it_would_need(spec):
    with pytest.raises(DriftduelError, match=r"arms=\d+: .* of arms x arms entries would take"):
        make_world(spec)


@pytest.mark.parametrize(
    "spec",
    ["interpolated:knots=1e9", "geometric-btl:phases=1e9,rounds=1e15", "random-walk:spread=inf",
     "seasonal:swing=1e308", "utilities:sd=1e-320", "saha-gupta-switching:phases=1e15"],
)  # fmt: skip
def test_numbers_without_end_are_refused(spec):
    with pytest.raises(DriftduelError, match="must be a"):
        make_world(spec)


def test_ctrl_c_while_a_world_is_built(monkeypatch):
    """It is drawn matrix by matrix, and between two of them Python listens."""
    drawn = []

    def draw(*arguments):
        drawn.append(arguments)
        if len(drawn) == 5:
            signal.raise_signal(signal.SIGINT)
        return geometric_btl(*arguments)

    monkeypatch.setattr("driftduel.preferences.geometric_btl", draw)
    with pytest.raises(KeyboardInterrupt):
        make_world("interpolated:arms=2,rounds=1e9,knots=1e6")
    assert len(drawn) == 5
