"""Significant switches: the definition, exact ties, chunks, and sizes far beyond the definition."""

import math
import subprocess
import sys
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest

from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.measures import _significant_kernels as kernels
from driftduel.measures.significant import SCALES, SignificantScan, significant_switches

# The twins beside this file, whether or not the folder is a package.
naive = import_module(".naive" if __package__ else "naive", __package__)

UNIT = 2.0**-30


def by_round(starts, rounds, losses):
    return np.repeat(losses, np.diff([*starts, rounds + 1]), axis=0)


def in_chunks(rng, starts, rounds, losses, scale):
    """Feed the world cut at random rounds, inside segments as well."""
    scan = SignificantScan(losses.shape[1], rounds, scale)
    cuts = rng.integers(1, rounds + 1, size=rng.integers(0, 8))
    edges = np.unique([1, *cuts, rounds + 1])
    for first, end in pairwise(edges.tolist()):
        low = np.searchsorted(starts, first, side="right") - 1
        high = np.searchsorted(starts, end, side="left")
        inside = starts[low:high].copy()
        inside[0] = first
        scan.feed(inside, end, losses[low:high])
    return scan.switches


def random_world(rng, most_rounds, scale):
    """Draw segments and losses of many kinds; on the coarse grids sums often tie with the root."""
    arms, rounds = int(rng.integers(2, 6)), int(rng.integers(1, most_rounds + 1))
    share = rng.choice([0.03, 0.2, 0.6, 1.0])
    starts = np.flatnonzero(np.r_[True, rng.random(rounds - 1) < share]) + 1
    shape = (len(starts), arms)
    kind = rng.integers(5)
    if kind == 0:
        losses = rng.random(shape) ** rng.choice([0.1, 0.5, 2.0])
    elif kind == 1:
        losses = rng.choice([0.0, 0.25, 0.5, 1.0], size=shape, p=[0.1, 0.1, 0.3, 0.5])
    elif kind == 2:
        losses = rng.choice([0.0, 0.5], size=shape, p=[0.2, 0.8])
    elif kind == 3:
        losses = np.clip(0.5 + np.cumsum(rng.normal(0, 0.1, shape), axis=0), 0.0, 1.0)
    else:  # follow the root itself, so that starts are nearly as good as each other
        c, to_go = math.sqrt(naive.square(arms, scale)), rounds + 1 - starts[:, None]
        steps = c * (np.sqrt(to_go) - np.sqrt(to_go - 1)) * rng.choice([1.0, 1.1, 1.5], size=arms)
        losses = np.minimum(steps, 1.0)
    if rng.random() < 0.3:  # as in a world, where somebody wins
        losses[np.arange(len(starts)), rng.integers(arms, size=len(starts))] = 0.0
    return starts, rounds, losses


@pytest.mark.long
@pytest.mark.kernels
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("most_rounds", "worlds"), [(12, 400), (60, 800), (120, 600)])
def test_against_the_definition(most_rounds, worlds, scale):
    rng = np.random.default_rng([most_rounds, len(scale)])
    found = 0
    worlds = worlds if jit_enabled() else worlds // 6
    for _ in range(worlds):
        starts, rounds, losses = random_world(rng, most_rounds, scale)
        expected = naive.significant_switches(by_round(starts, rounds, losses), scale)
        assert significant_switches(starts, rounds, losses, scale) == expected
        assert in_chunks(rng, starts, rounds, losses, scale) == expected
        found += len(expected)
    assert found > worlds // 50  # else the comparison says little


@pytest.mark.kernels
def test_against_the_definition_in_one_long_phase():
    # One arm never fails, so the stacks of the others are followed for all rounds.
    rng = np.random.default_rng(5)
    rounds = 500 if jit_enabled() else 200
    losses = np.abs(np.cumsum(rng.normal(0, 0.004, (rounds, 3)), axis=0))
    losses[: rounds - 40, 0] = 0.0
    losses[rounds - 40 :] = 0.7
    expected = naive.significant_switches(losses)
    assert expected
    assert significant_switches(np.arange(1, rounds + 1), rounds, losses) == expected


@pytest.mark.kernels
def test_reaching_is_exact():
    rng = np.random.default_rng(7)
    # sqrt(46645) 2^30 rounds to an integer just below the root: floats would let it pass.
    assert math.sqrt(46645) * 2**30 == 231900891724
    squares = [1, 2, 3, 4, 46645, 116412, 1 << 61, *rng.integers(1, 1 << 61, size=300).tolist()]
    for square in squares:
        root = math.isqrt(square << 60)
        for total in (root - 1, root, root + 1, root >> 1):
            expected = naive.reaches(total, square)
            assert kernels.reaches(np.int64(total), np.int64(square)) == expected


@pytest.mark.kernels
def test_overtaking_is_bracketed():
    rng = np.random.default_rng(8)
    last, doubts = (1 << 31) - 2, 0
    for _ in range(300):
        c2, i = int(rng.integers(1, 100)), int(rng.integers(1, 1000))
        d, u = int(10 ** rng.uniform(0, 6)), int(10 ** rng.uniform(0, 8))
        j, e = i + d, i + d + u
        # The older start draws level about the end e; squares make some of these ends exact.
        if rng.random() < 0.3:
            c2, u, d = 4, 9, 7
            j, e = i + d, i + d + u
        gained = round((math.sqrt(c2 * (u + d)) - math.sqrt(c2 * u)) * 2**30)
        root = math.ldexp(math.sqrt(c2), 30)
        sure, until = kernels.overtaking(i, j, gained, root, last)
        doubts += sure != until
        assert sure <= until
        for end in {sure - 1, e - 1, e, e + 1, until, until + 1, 2 * until}:
            if j < end < sure:
                assert not naive.as_good(end, i, j, gained, c2)
            if end >= until:
                assert naive.as_good(end, i, j, gained, c2)
    assert doubts  # the exact ends leave a doubt, the others hardly ever


def test_overtaking_never_happens_without_a_loss_or_before_the_end():
    never = (kernels.NEVER, kernels.NEVER)
    assert kernels.overtaking(1, 5, 0, 2.0**31, 1000) == never
    assert kernels.overtaking(1, 500, 1, 2.0**31, 1000) == never


@pytest.mark.kernels
@pytest.mark.parametrize("arms_loss_length", [(7, 21 / 64, 63), (3, 3 / 4, 3), (4, 1.0, 1)])
def test_a_tie_counts(arms_loss_length):
    # (n + 1) loss = sqrt(K n) exactly, and no shorter window reaches its root.
    arms, loss, n = arms_loss_length
    assert ((n + 1) * loss) ** 2 == arms * n
    rounds = 5 * (n + 1)
    starts = np.array([1])
    tie = significant_switches(starts, rounds, np.full((1, arms), loss))
    assert tie == [1 + (n + 1) * i for i in range(1, 5)]
    # A unit less, and it takes a longer window.
    less = significant_switches(starts, rounds, np.full((1, arms), loss - UNIT))
    assert less == naive.significant_switches(np.full((rounds, arms), loss - UNIT))
    assert less[0] == tie[0] + 1


@pytest.mark.kernels
def test_a_window_may_begin_with_the_last_round_of_a_segment():
    # Only [2, 3] is enough: 0.5 + 0.95 >= sqrt(2), but 2 * 0.5 + 0.95 < sqrt(4).
    losses = np.array([[0.5, 0.5], [0.95, 0.95], [0.0, 0.0]])
    assert significant_switches(np.array([1, 3, 4]), 10, losses) == [4]


@pytest.mark.kernels
def test_in_doubt_all_starts_are_looked_at():
    # Two starts for the end 10, the older one enough, the newer, on top, not.
    never, before = kernels.NEVER, 1 << 40
    for sure, expected in ((10, True), (11, False)):
        phase = SignificantScan(1, 100)._phase
        rows = np.array([[[1, 0, never, never], [5, before, sure, 11]]])
        phase = phase._replace(stacks=rows, depth=np.array([2]))
        assert kernels.fails(phase, 0, 10, before) == expected


def test_losses_are_rounded_to_units():
    for shift, expected in ((0.4, [3, 5]), (0.6, [4])):
        losses = np.full((1, 4), 1.0 - shift * UNIT)
        assert significant_switches(np.array([1]), 6, losses) == expected
    # Noise below the precision of a matrix is no mistake.
    assert significant_switches(np.array([1]), 6, np.full((1, 4), -1e-10)) == []


def test_a_switch_lies_before_the_last_round():
    always = np.ones((1, 2))
    found = [significant_switches(np.array([1]), rounds, always) for rounds in range(1, 9)]
    assert found == [[], [], [], [3], [3], [3, 5], [3, 5], [3, 5, 7]]


def test_the_appendix_asks_for_more():
    starts, losses = np.array([1, 501]), np.array([[0.0, 0.5], [0.5, 0.0]])
    # 0.5 (n + 1) >= sqrt(2 n) from n = 6 on, and >= 2 sqrt(n) from n = 14 on.
    assert significant_switches(starts, 1000, losses) == [501 + 6 + 1]
    assert significant_switches(starts, 1000, losses, "appendix") == [501 + 14 + 1]


def rotating(arms, phases, length):
    """Give every phase another winner; the other arms lose 0.3 a round."""
    losses = np.full((phases, arms), 0.3)
    losses[np.arange(phases), np.arange(phases) % arms] = 0.0
    return np.arange(phases) * length + 1, losses


# 0.3 (n + 1) >= sqrt(10 n) from n = 110 on: the old winner fails so long after the change.
LAG = 110 + 1


@pytest.mark.kernels
@pytest.mark.parametrize("length", [50_000, 50_000_000])
def test_work_does_not_depend_on_rounds(length, monkeypatch):
    starts, losses = rotating(10, 20, length)
    expected = [int(start) + LAG for start in starts[1:]]
    assert significant_switches(starts, 20 * length, losses) == expected

    # Again with the plain functions, counting how often a window is looked at.
    looks = []

    def counting(total, square):
        looks.append(1)
        return plain["reaches"](total, square)

    names = ("reaches", "overtaking", "push", "overtaken", "fails", "first_failure", "scan")
    made = {name: getattr(kernels, name) for name in names}
    plain = {name: getattr(kernel, "py_func", kernel) for name, kernel in made.items()}
    for name, function in (plain | {"reaches": counting}).items():
        monkeypatch.setattr(kernels, name, function)
    assert significant_switches(starts, 20 * length, losses) == expected
    # Every arm fails at most once a phase, by bisection; else two looks a segment do.
    assert len(looks) < 20 * 10 * (4 + math.log2(length))


@pytest.mark.kernels
def test_one_segment_a_round():
    phases, length = (10, 10_000) if jit_enabled() else (3, 400)
    starts, losses = rotating(10, phases, length)
    rounds = phases * length
    scan = SignificantScan(10, rounds)
    every_round, most = by_round(starts, rounds, losses), 0
    for first in range(1, rounds + 1, 1000):
        end = min(first + 1000, rounds + 1)
        scan.feed(np.arange(first, end), end, every_round[first - 1 : end - 1])
        most = max(most, int(scan._phase.depth.max()))
    assert scan.switches == [int(start) + LAG for start in starts[1:]]
    assert most < 10  # of a thousand starts a chunk, pruning leaves a handful


@pytest.mark.kernels
def test_a_random_walk_of_many_rounds():
    rounds = 100_000 if jit_enabled() else 3000
    rng = np.random.default_rng(3)
    utilities = np.cumsum(rng.normal(0, 0.3, (rounds, 10)), axis=0)
    losses = 1 / (1 + np.exp(utilities - utilities.max(axis=1, keepdims=True))) - 0.5
    starts = np.arange(1, rounds + 1)
    found = significant_switches(starts, rounds, losses)
    assert found == in_chunks(rng, starts, rounds, losses, "main")
    assert found == sorted(set(found))
    # A phase depends on nothing before it.
    nu = found[0]
    rest = significant_switches(starts[: 1 - nu], rounds + 1 - nu, losses[nu - 1 :])
    assert [nu - 1 + switch for switch in rest] == found[1:]


@pytest.mark.kernels
def test_a_long_phase_gives_its_memory_back():
    # While losses rise, older starts fall behind but may come back, so many are kept.
    rounds = 6000 if jit_enabled() else 1500
    rising = np.linspace(0.0, 0.02, rounds)
    scan = SignificantScan(2, 2 * rounds)
    scan.feed(np.arange(1, rounds + 1), rounds + 1, np.stack([rising, 0 * rising], axis=1))
    assert scan.switches == []
    assert scan._phase.depth[0] > rounds // 10
    assert scan._phase.depth[1] == 1  # without a loss the newest start is the best for ever
    scan.feed(np.array([rounds + 1]), rounds + 101, np.ones((1, 2)))
    assert scan.switches
    scan.feed(np.array([rounds + 101]), rounds + 102, np.zeros((1, 2)))
    assert scan._phase.stacks.shape[1] < 20


def test_switches_are_a_copy():
    scan = SignificantScan(2, 10)
    scan.switches.append(5)
    assert scan.switches == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, 10, "other"), "scale=other must be one of main, appendix"),
        ((0, 10), "arms=0 must be between 1 and"),
        ((2, 0), "rounds=0 must be between 1 and"),
        ((2, 2**31 + 1), "rounds=2147483649 must be between 1 and"),
    ],
)
def test_mistakes_in_the_arguments(arguments, message):
    with pytest.raises(DriftduelError, match=message):
        SignificantScan(*arguments)


@pytest.mark.parametrize(
    ("starts", "end", "losses", "message"),
    [
        ([2], 5, [[0, 0]], "must begin in round 1, not 2"),
        ([1, 1], 5, [[0, 0]] * 2, "ascend"),
        ([1, 5], 5, [[0, 0]] * 2, "ascend"),
        ([], 1, np.empty((0, 2)), "ascend"),
        ([1], 12, [[0, 0]], "ends in round 11, after 10"),
        ([1], 5, [[0, 0, 0]], r"shape \(1, 3\); 1 segments of 2 arms need \(1, 2\)"),
        ([1], 5, [[0, -0.1]], "between 0 and 1"),
        ([1], 5, [[0, 1.1]], "between 0 and 1"),
        ([1], 5, [[0, np.nan]], "between 0 and 1"),
    ],
)
def test_mistakes_in_a_chunk(starts, end, losses, message):
    scan = SignificantScan(2, 10)
    with pytest.raises(DriftduelError, match=message):
        scan.feed(np.array(starts, dtype=np.int64), end, np.array(losses, dtype=np.float64))


def test_losses_need_two_dimensions():
    with pytest.raises(DriftduelError, match="2 dimensions"):
        significant_switches(np.array([1]), 10, np.zeros(2))


def test_importing_leaves_the_compiler_alone():
    code = "import sys, driftduel.measures.significant; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
