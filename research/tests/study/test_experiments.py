"""The analyses, on games whose regret is made up and so known."""

import math
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

import polars as pl

from research.study import constants, lemmas, noise, rate, rivals, significant, variation
from research.study.fits import setting

SIZES = ("tiny", "quick", "full")
MODULES = (rate, noise, significant, variation, lemmas, constants, rivals)


def made(plans, regret, restarts=lambda cell: [], switches=lambda cell: []):
    """Return games as the store would, with a regret that a function of the cell gives."""
    rng = np.random.default_rng(0)
    rows = []
    for place, plan in enumerate(plans):
        arms = {world.spec: world.arms for world in plan.worlds}
        for cell in plan.cells():
            value = regret(cell, arms[cell.world]) * (1 + 0.01 * rng.standard_normal())
            rows.append(
                {
                    "plan": place, "world": cell.world, "policy": cell.policy, "run": cell.run,
                    "rounds": cell.rounds, "arms": arms[cell.world], "regret": value,
                    "restarts": restarts(cell), "switches": switches(cell),
                }
            )  # fmt: skip
    schema = {"restarts": pl.List(pl.Int64), "switches": pl.List(pl.Int64)}
    return pl.DataFrame(rows, schema_overrides=schema)


def verdicts(section, word):
    return [claim.verdict for claim in section.claims if word in claim.statement]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.NAME)
def test_plans_are_sound(module, size):
    plans = module.plans(size)
    assert plans
    assert all(plan.runs >= 2 for plan in plans)


@pytest.mark.long
@pytest.mark.parametrize("name", [module.NAME for module in MODULES])
def test_plans_are_made_without_further_ado(name):
    """In a separate process, in which the study's worlds are not registered yet."""
    code = f"from research.study import EXPERIMENTS; EXPERIMENTS[{name!r}].plans('tiny')"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_a_square_root_is_recognised():
    plans = rate.plans("quick")
    games = made(plans, lambda cell, arms: arms * math.sqrt(5 * cell.rounds) * 2)
    section = rate.analyse(games)
    assert set(verdicts(section, "sqrt(T)")) == {"holds"}
    assert verdicts(section, "at most c log^3")[0].startswith("undecided: uniform play")
    assert set(verdicts(section, "like K^1")) == {"holds"}


def test_a_line_is_not_a_square_root():
    section = rate.analyse(made(rate.plans("quick"), lambda cell, arms: 0.1 * cell.rounds))
    found = verdicts(section, "sqrt(T)")
    assert found
    assert all(v.startswith("not seen up to T = 1e") for v in found)


def test_uniform_play_proves_nothing():
    games = made(rate.plans("quick"), lambda cell, arms: rate._uniform(arms, cell.rounds))
    section = rate.analyse(games)
    found = verdicts(section, "S^CW + 1")
    assert found
    assert all("near uniform play" in v for v in found)


def _noise_regret(grows):
    def regret(cell, arms):
        told = noise._switches(cell.world) + 1
        if cell.policy == "uniform":
            return 0.2 * cell.rounds
        flat = cell.policy in (noise._ANACONDA.spec(""), noise._DEX3S.spec(cell.world))
        flat = flat != grows
        return 0.01 * cell.rounds * (1 if flat else told**0.1)

    return regret


def test_noise_that_does_not_matter():
    section = noise.analyse(made(noise.plans("quick"), _noise_regret(grows=False)))
    assert set(verdicts(section, "does not depend")) == {"holds"}
    assert set(verdicts(section, "degrades")) == {"holds"}
    assert verdicts(section, "own example") == ["holds"]


def test_noise_that_matters():
    section = noise.analyse(made(noise.plans("quick"), _noise_regret(grows=True)))
    for verdict in verdicts(section, "does not depend") + verdicts(section, "degrades"):
        assert verdict.startswith("not seen")


def test_rivals_are_told_what_their_rows_say():
    world = "study-noise:rounds=1000,phases=5,every=100"
    said = {str(kind): kind.spec(world) for kind in noise._KINDS}
    assert said["DEX3.S, told S^CW"] == "dex3s:switches=4,variation=0"
    assert said["DEX3.S, told S^P"] == "dex3s:switches=9,variation=0"
    assert (said["MDB, told S^P"], said["MDB, told S^CW"]) == ("mdb:switches=9", "mdb:switches=4")


@pytest.mark.parametrize("window", [1, 9, 100, 10_000])
@pytest.mark.parametrize(("arms", "rounds"), [(3, 1e5), (3, 1e8), (5, 1e6)])
def test_a_constant_is_enough_if_freedmans_bound_stays_below_the_threshold(arms, rounds, window):
    """The lemma's two sides, for one window: (e-1)(sqrt(V log) + R log) = C log(T) K sqrt(n)."""
    chance = rounds**-2 / (arms**2 * rounds**2 / 2 * 2)  # pairs, windows, signs
    n = max(window, arms**2)
    V, R, log = 2 * arms**2 * n, arms**2, math.log(1 / chance)
    deviation = (math.e - 1) * (math.sqrt(V * log) + R * log)
    threshold = constants.enough(arms, rounds, window) * math.log(rounds) * arms * math.sqrt(n)
    assert threshold == pytest.approx(deviation)


def test_what_freedmans_bound_asks_for():
    assert constants.enough(3, 1e5, 9) == pytest.approx(8.7, abs=0.05)
    assert constants.enough(3, 1e5, math.inf) == pytest.approx(1.5, abs=0.05)
    assert constants.enough(3, 1e5, 1e12) == pytest.approx(
        constants.enough(3, 1e5, math.inf), rel=1e-3
    )


def test_significant_switches_count():
    def regret(cell, arms):
        if cell.policy == "uniform":
            return 0.2 * cell.rounds
        severe = setting(cell.world, "severe")
        return 0.01 * cell.rounds * math.sqrt(severe + 1)

    section = significant.analyse(made(significant.plans("quick"), regret))
    assert {claim.verdict for claim in section.claims} == {"holds"}


def test_variation_is_judged_by_its_exponents():
    def regret(cell, arms):
        if cell.policy == "uniform":
            return 0.2 * cell.rounds
        swings = setting(cell.world, "swings")
        return swings ** (1 / 3) * cell.rounds ** (2 / 3)

    section = variation.analyse(made(variation.plans("quick"), regret))
    assert {claim.verdict for claim in section.claims} == {"holds"}


def test_calibration_takes_the_smallest_level_from_which_on_all_are_safe():
    rows = [
        {"arms": 2, "rounds": 1000, "level": level, "constant": level / 7, "restarted": run < wrong}
        for level, wrong in ((3.0, 0), (4.0, 9), (5.0, 1), (6.0, 0))
        for run in range(100)
    ]
    assert lemmas.calibration(pl.DataFrame(rows)) == {(2, 1000): (5 / 7, 5.0)}


def test_overtaking_is_paired():
    luck = np.random.default_rng(0).normal(0, 50, 6)
    ours = {t: {i: 100 + luck[i] for i in range(6)} for t in (10.0, 100.0)}
    rival = {
        10.0: {i: 90 + luck[i] + 0.1 * i for i in range(6)},
        100.0: {i: 101 + luck[i] + 0.1 * i for i in range(6)},
    }
    found = rivals.overtaking(ours, rival)
    assert (found.verdict, found.last, found.more) == ("begins at T = 100", 100.0, False)
    back = rivals.overtaking(rival, ours)
    assert back.verdict == "undecided: seen at T = 10, not at T = 100"
    assert back.more
