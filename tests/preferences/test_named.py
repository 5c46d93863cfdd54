"""The matrices with a name."""

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.preferences import NAMED, named

FIGURES = {
    "six-rankers": """
        .50 .55 .55 .54 .61 .61
        .45 .50 .55 .55 .58 .60
        .45 .45 .50 .54 .51 .56
        .46 .45 .46 .50 .54 .50
        .39 .42 .49 .46 .50 .51
        .39 .40 .44 .50 .49 .50""",
    "cyclic": """
        .5 .6 .6 .6
        .4 .5 .9 .1
        .4 .1 .5 .9
        .4 .9 .1 .5""",
    "arithmetic": """
        .50 .55 .60 .65 .70 .75 .80 .85
        .45 .50 .55 .60 .65 .70 .75 .80
        .40 .45 .50 .55 .60 .65 .70 .75
        .35 .40 .45 .50 .55 .60 .65 .70
        .30 .35 .40 .45 .50 .55 .60 .65
        .25 .30 .35 .40 .45 .50 .55 .60
        .20 .25 .30 .35 .40 .45 .50 .55
        .15 .20 .25 .30 .35 .40 .45 .50""",
    "linear-order": """
        .50 .62 .64 .66 .68 .70 .72 .74 .76 .78
        .38 .50 .62 .64 .66 .68 .70 .72 .74 .76
        .36 .38 .50 .62 .64 .66 .68 .70 .72 .74
        .34 .36 .38 .50 .62 .64 .66 .68 .70 .72
        .32 .34 .36 .38 .50 .62 .64 .66 .68 .70
        .30 .32 .34 .36 .38 .50 .62 .64 .66 .68
        .28 .30 .32 .34 .36 .38 .50 .62 .64 .66
        .26 .28 .30 .32 .34 .36 .38 .50 .62 .64
        .24 .26 .28 .30 .32 .34 .36 .38 .50 .62
        .22 .24 .26 .28 .30 .32 .34 .36 .38 .50""",
    "paper-two-arm-first": ".5 1 \n 0 .5",
    "paper-two-arm-second": ".5 0 \n 1 .5",
    "paper-background-odd": ".50 .55 .55 \n .45 .50 1 \n .45 0 .50",
    "paper-background-even": ".50 .55 .55 \n .45 .50 0 \n .45 1 .50",
}


def test_every_name_is_known_here():
    assert set(NAMED) == set(FIGURES)


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_figures(name):
    expected = [line.split() for line in FIGURES[name].strip().splitlines()]
    np.testing.assert_allclose(
        named(name).matrix, np.array(expected, dtype=np.float64), rtol=0, atol=1e-12
    )
    assert named(name) == NAMED[name]()


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_condorcet_winners(name):
    assert named(name).condorcet_winner() == (1 if name == "paper-two-arm-second" else 0)


def test_the_sixrankers_are_the_published_decimals():
    # Literals, not computed: the tie of arms 3 and 5 must be exact.
    P = named("six-rankers").matrix
    assert (P * 100).round().tolist() == (P * 100).round(9).tolist()
    assert P[3, 5] == P[5, 3] == 0.5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("six-ranker", "No preference matrix is called 'six-ranker'; did you mean 'six-rankers' ("),
        (
            "paper-two-arm",
            "did you mean 'paper-two-arm-first' or 'paper-two-arm-second'",
        ),
        ("???", "No preference matrix is called '???'; known are arithmetic, cyclic, "),
        (6, "No preference matrix is called 6; known are arithmetic, cyclic, "),
    ],
)
def test_an_unknown_name_lists_near_ones(name, message):
    with pytest.raises(DriftduelError) as caught:
        named(name)
    assert message in str(caught.value)
