"""Worlds of slates: choices after Plackett and Luce, and which worlds have them."""

from itertools import permutations

import numpy as np
import pytest

from driftduel.errors import DriftduelError
from driftduel.measures import measure
from driftduel.policies import code_of, is_code, places_of, result_of_pair
from driftduel.preferences import LINKS
from driftduel.worlds import (
    LINK_CODES,
    WithAbsences,
    WithDelay,
    WithSlates,
    WithTies,
    decide,
    decide_slate,
    make_world,
    save_world,
)

LOGISTIC = LINK_CODES["logistic"]


def answer(utilities, shown, draws, ranked, nothing=0.0, coin=False):
    """Return the code of a slate, with its first draw at index 0."""
    places = np.zeros(8, np.int64)
    places[: len(shown)] = shown
    return int(
        decide_slate(
            np.asarray(utilities, float), places, len(shown), np.asarray(draws, float), 0,
            nothing, ranked, coin, np.empty(8),
        )
    )  # fmt: skip


def plackett_luce(utilities):
    """Return the probability of every order of all arms, the best first."""
    weights = np.exp(utilities)
    law = {}
    for order in permutations(range(len(weights))):
        left = [weights[list(order[place:])].sum() for place in range(len(order))]
        law[order] = float(np.prod(weights[list(order)] / left))
    return law


def top(law, best):
    """Return the probability that an order begins with these arms."""
    return sum(p for order, p in law.items() if order[: len(best)] == best)


def law_of_draws(utilities, shown, ranked):
    """Return the probability of every code, from the intervals of draws that lead to it.

    The ends of the intervals are found by bisection.
    """
    law = {}

    def explore(draws, volume):
        stage = len(draws)
        if stage == (len(shown) - 1 if ranked else 1):
            code = answer(utilities, shown, draws, ranked)
            law[code] = law.get(code, 0.0) + volume
            return

        def place(draw):
            later = [*draws, draw, *([0.5] * len(shown))]
            return places_of(answer(utilities, shown, later, ranked))[stage]

        begin = 0.0
        while begin < 1.0:
            here, low, high = place(begin), begin, 1.0
            while high - low > 1e-13:
                middle = (low + high) / 2
                low, high = (middle, high) if place(middle) == here else (low, middle)
            explore([*draws, (begin + low) / 2], volume * (high - begin))
            begin = high if high < 1.0 - 1e-12 else 1.0

    explore([], 1.0)
    return law


@pytest.mark.kernels
@pytest.mark.parametrize("utilities", [[0.3, -1.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [5.0, -4, 1]])
def test_the_law_is_that_of_all_orders(utilities):
    shown = list(range(len(utilities)))
    orders = plackett_luce(utilities)
    picks, rankings = (law_of_draws(utilities, shown, ranked) for ranked in (False, True))
    assert len(picks) == len(shown)
    assert set(rankings) == {code_of(order) for order in orders}
    for code, p in picks.items():
        assert p == pytest.approx(top(orders, places_of(code)), abs=1e-9)
    for code, p in rankings.items():
        assert p == pytest.approx(orders[places_of(code)], abs=1e-9)
    # The first places of a ranking have the law of partial rankings, and the first that of a pick.
    for best in {order[:k] for order in orders for k in (1, 2)}:
        p = sum(p for code, p in rankings.items() if places_of(code)[: len(best)] == best)
        assert p == pytest.approx(top(orders, best), abs=1e-9)


@pytest.mark.kernels
@pytest.mark.parametrize("ranked", [False, True])
def test_a_decided_pair_has_the_law_of_a_duel(ranked):
    utilities = np.array([0.4, -0.7, 1.5, 0.1])
    for shown in ([0, 1, 2, 3], [2, 0, 3], [1, 3]):
        law = law_of_draws(utilities, shown, ranked)
        assert sum(law.values()) == pytest.approx(1.0)
        for p, q in permutations(range(len(shown)), 2):
            won = sum(share for code, share in law.items() if result_of_pair(code, p, q) == 1)
            lost = sum(share for code, share in law.items() if result_of_pair(code, p, q) == 0)
            if ranked:
                assert won + lost == pytest.approx(1.0)
            gap = utilities[shown[p]] - utilities[shown[q]]
            assert won / (won + lost) == pytest.approx(LINKS["logistic"](gap), abs=1e-9)


def reference(utilities, shown, draws, ranked, nothing, coin):
    """Decide a slate by one definition after the other."""
    draw = draws[0]
    if len(shown) == 2 and shown[0] == shown[1]:
        return 1 if draw < 0.5 else 0
    if nothing and draw >= 1 - nothing:
        fair = (draw - (1 - nothing)) / nothing
        return code_of([int(fair * len(shown))]) if coin else -1
    left, order = list(range(len(shown))), []
    for draw in [draws[0] / (1 - nothing), *draws[1:]][: len(shown) - 1 if ranked else 1]:
        ends = np.cumsum([np.exp(utilities[shown[place]]) for place in left])
        order.append(left.pop(int((draw * ends[-1] >= ends).sum())))
    return code_of([*order, *left] if ranked and len(shown) > 2 else order)


@pytest.mark.kernels
def test_the_kernel_equals_the_reference():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(4000):
        arms = int(rng.integers(2, 11))
        utilities = rng.normal(0, rng.choice([0.1, 1, 6]), arms)
        shown = rng.permutation(arms)[: rng.integers(1, min(8, arms) + 1)].tolist()
        shown = shown * 2 if len(shown) == 1 else shown
        draws, ranked, coin = rng.random(7), bool(rng.integers(2)), bool(rng.integers(2))
        nothing = float(rng.choice([0, 0.1, 0.9]))
        code = answer(utilities, shown, draws, ranked, nothing, coin)
        assert code == reference(utilities, shown, draws, ranked, nothing, coin)
        assert is_code(code, len(shown))
        seen.add(len(places_of(code)))
    assert seen == {0, 1, 3, 4, 5, 6, 7, 8}


@pytest.mark.kernels
def test_two_arms_are_a_duel_to_the_bit():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        utilities = rng.normal(0, rng.choice([1e-9, 1, 20]), 3)
        a, b = rng.integers(3, size=2)
        p = float(LINKS["logistic"](utilities[a] - utilities[b]))
        draw = float(np.clip(rng.choice([rng.random(), p, np.nextafter(p, 0)]), 0, 1 - 2**-53))
        duel = int(decide(utilities, LOGISTIC, 3, a, b, draw, 0.0, False, False))
        assert all(answer(utilities, [a, b], [draw], ranked) == duel for ranked in (False, True))


@pytest.mark.kernels
def test_distant_utilities_are_ranked_by_their_own_law():
    # exp(-2000) is 0: the weights of the last three must not vanish beside that of the best.
    law = law_of_draws([0.0, -2000.0, -2001.0, -2002.0], [0, 1, 2, 3], True)
    last = plackett_luce([2.0, 1.0, 0.0])
    for code, p in law.items():
        best, *rest = places_of(code)
        assert best == 0
        assert p == pytest.approx(last[tuple(place - 1 for place in rest)], abs=1e-9)


@pytest.mark.parametrize(
    "spec",
    [
        "geometric-btl:arms=60,rounds=500",
        "utilities:rounds=500,sd=8",
        "ladder:rounds=500",
        "lone-winner:rounds=500",
        "seasonal:rounds=500",
        "sleeping:rounds=500,phases=3",
    ],
)
def test_preferences_stay_those_of_the_world(spec):
    inside = make_world(spec, 3)
    world = make_world(f"{spec},slate=5,feedback=ranking", 3)
    assert (world.slate, world.ranked, world.nothing_picked) == (5, True, 0.0)
    for t in (1, inside.rounds // 2, inside.rounds):
        mine, theirs = world.preferences(t).matrix, inside.preferences(t).matrix
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12)
        assert world.present(t) == inside.present(t)
    assert world.condorcet_winners() == inside.condorcet_winners()
    one, other = measure(world), measure(inside)
    assert one.condorcet_switch_rounds == other.condorcet_switch_rounds
    assert one.total_variation == pytest.approx(other.total_variation)
    parts = [world.chunk(first, first + 50) for first in range(1, 501, 50)]
    rows = np.concatenate([part.utilities[part.rows] for part in parts])
    whole = world.chunk(1, 501)
    assert {tuple(row) for row in rows} == {tuple(row) for row in whole.utilities[whole.rows]}


def test_a_slate_of_two_is_the_world_without_the_key():
    for spec in ("utilities:rounds=9", "routing:rounds=9", "cycle:rounds=9"):
        plain = make_world(spec, 1)
        world = make_world(f"{spec},slate=2,feedback=ranking", 1)
        assert type(world) is type(plain)
        assert (world.slate, world.ranked) == (2, False)


def test_wrappers_pass_slates_on():
    inside = make_world("utilities:rounds=60", 2)
    events = [(1, 3, False), (30, 4, False)]
    for world in (
        WithDelay(WithAbsences(WithTies(WithSlates(inside, 4, "ranking"), 0.25), events), 3),
        WithTies(WithDelay(WithSlates(WithAbsences(inside, events), 4, "ranking"), 3), 0.25),
        WithAbsences(WithDelay(WithSlates(inside, 4, "ranking", 0.25), 3), events),
        WithAbsences(
            make_world("utilities:rounds=60,slate=4,feedback=ranking,ties=0.25,delay=3", 2), events
        ),
    ):
        assert (world.slate, world.ranked, world.nothing_picked) == (4, True, 0.25)
        chunk = world.chunk(1, 61)
        assert (len(chunk.ties), chunk.delay, chunk.link) == (0, 3, LOGISTIC)
        assert [len(world.present(t)) for t in (1, 29, 30, 60)] == [9, 9, 8, 8]
        np.testing.assert_allclose(
            world.preferences(5).matrix, inside.preferences(5).matrix, atol=1e-12
        )
    twice = WithTies(WithTies(WithSlates(inside, 4), 0.5), 0.5)
    assert twice.nothing_picked == 0.75


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("utilities:link=probit,slate=3", "round 1 of this world has none; use a world such as"),
        ("interpolated:slate=3", "with link=logistic, or leave out slate="),
        ("cycle:slate=3", "needs logistic utilities"),
        ("routing:slate=3", "not defined for worlds with requests; leave out slate="),
        ("utilities:arms=3,slate=4", "at most the 3 arms"),
        ("utilities:slate=9", "between 2 and 8"),
        ("utilities:slate=3,feedback=vote", "feedback=vote must be one of pick, ranking"),
    ],
)
def test_a_world_without_slates_is_refused_in_one_sentence(spec, said):
    with pytest.raises(DriftduelError, match=said) as error:
        make_world(spec, 1)
    assert "\n" not in str(error.value)


def test_constructor_and_file_are_refused_in_one_sentence(tmp_path):
    inside = make_world("utilities:rounds=60", 2)
    for refused, said in (
        (lambda: WithSlates(inside, 2), "from 3 to 8"),
        (lambda: WithSlates(inside, True), "from 3 to 8"),
        (lambda: WithSlates(inside, 3, "order"), "pick or ranking"),
        (lambda: WithSlates(inside, 3, nothing_picked=1), "below 1"),
        (lambda: WithSlates(WithTies(inside, 0.1), 3), "WithTies around WithSlates"),
        (lambda: save_world(WithSlates(inside, 3), tmp_path / "a.npz"), "keep the spec"),
    ):
        with pytest.raises(DriftduelError, match=said):
            refused()
    later = make_world("mixed:rounds=50000,slate=3", 1)
    with pytest.raises(DriftduelError, match="needs logistic utilities, and round"):
        list(later.chunks())
