"""Policies that are told too little, or too much to be kept in memory."""

import math

import pytest

from driftduel.errors import DriftduelError
from driftduel.policies import make_policy

pytestmark = pytest.mark.filterwarnings("ignore::driftduel.errors.WeakSpotWarning")


@pytest.mark.parametrize("rounds", [2, 3, 10, 100])
@pytest.mark.parametrize("arms", [2, 30, 200])
def test_mdb_has_a_window_however_few_the_rounds(rounds, arms):
    policy = make_policy("mdb", arms, horizon=rounds, switches=0)
    windows = policy.state.windows.shape[1]
    assert windows >= 2
    assert windows % 2 == 0
    C = math.log((4 * rounds + 2) * math.sqrt(rounds) / arms)
    if C > 0:  # as the authors have it
        assert windows == 2 * math.ceil(8 * C / 0.3**2 / 2)
    assert math.isfinite(policy.state.numbers[0].limit)


@pytest.mark.parametrize("setting", [1, 2])
@pytest.mark.parametrize("p_min", [0.5000000001, math.nextafter(0.5, 1), 0.99])
def test_detect_with_a_winner_that_hardly_wins(setting, p_min):
    spec = f"detect:p_min={p_min!r},setting={setting},delta=0.9"
    try:
        policy = make_policy(spec, 3, horizon=1000)
    except DriftduelError as error:  # the windows that it would need
        assert "outcomes for each of 3 arms" in str(error)  # noqa: PT017
    else:
        assert policy.state.numbers[0].explore >= 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("sw-dts:window=1e9", "sw-dts: window=1000000000: as many answers would take"),
        ("mdb:delta=1e-9", "outcomes for each of 45 pairs would take"),
        ("detect:delta=1e-9", "outcomes for each of 10 arms would take"),
    ],
)
def test_windows_that_no_memory_holds(spec, said):
    with pytest.raises(DriftduelError) as error:
        make_policy(spec, 10, horizon=1000, switches=3)
    assert said in str(error.value)


@pytest.mark.parametrize("at", ["1", "9+5", "5+5", "9" * 19, str(2**63), "5+" + "9" * 400])
def test_an_oracle_of_rounds_that_never_come(at):
    with pytest.raises(DriftduelError, match="must be rounds from 2 on, ascending"):
        make_policy(f"oracle-dts:at={at}", 3)
