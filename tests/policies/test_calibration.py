"""The calibrated constant: the table's in the table, safe between and beyond."""

import math

import pytest
from hypothesis import given, strategies as st

from driftduel.policies import calibration, make_policy
from driftduel.policies.calibration import calibrated_constant

ROWS = calibration.calibration()["rows"]
LONGEST = max(row["rounds"] for row in ROWS)


def test_the_file_has_several_arms_and_horizons_and_every_row_was_safe():
    assert len({row["arms"] for row in ROWS}) >= 4
    assert len({row["rounds"] for row in ROWS}) >= 4
    for row in ROWS:
        assert row["runs"] >= 100
        assert row["restarted"] <= row["runs"] / 100
        assert row["level"] == pytest.approx(row["constant"] * math.log(row["rounds"]), abs=0.01)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['arms']}-{row['rounds']}")
def test_a_row_of_the_table_is_met_or_exceeded(row):
    # Exceeded where a shorter game asked for more.
    assert calibrated_constant(row["arms"], row["rounds"]) * math.log(row["rounds"]) >= (
        row["level"] - 1e-9
    )


@given(st.integers(2, 50), st.integers(2, 10**12))
def test_levels_come_from_the_table_and_grow_beyond_it(arms, rounds):
    level = calibrated_constant(arms, rounds) * math.log(rounds)
    if rounds <= LONGEST:
        assert any(level == pytest.approx(row["level"]) for row in ROWS)
    else:
        at_end = calibrated_constant(arms, LONGEST)
        assert level == pytest.approx(at_end * math.log(rounds))


@given(st.integers(2, 12), st.integers(2, LONGEST - 1))
def test_a_longer_game_never_gets_a_lower_level(arms, rounds):
    now, later = (calibrated_constant(arms, t) * math.log(t) for t in (rounds, rounds + 1))
    assert later >= now - 1e-9


def test_the_rule_is_the_papers_with_that_constant():
    duels = []
    for spec in (
        "anaconda:rule=calibrated",
        f"anaconda:constant={calibrated_constant(3, 4_000)!r}",
    ):
        policy = make_policy(spec, 3, 5, 4_000)
        for _ in range(2_000):
            duel = policy.ask()
            duels.append((duel.first, duel.second))
            policy.tell(duel, winner=max(duel.first, duel.second))
    assert duels[:2_000] == duels[2_000:]


def test_without_a_horizon_the_largest_constant_is_taken():
    assert calibrated_constant(4, None) == max(
        calibrated_constant(4, t) for t in {row["rounds"] for row in ROWS}
    )
    make_policy("anaconda:rule=calibrated,horizon=none", 4, 0, 100).ask()
