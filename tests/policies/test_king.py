"""The king of the hill: a twin after its docstring, the contract, and how often it is wrong."""

import math

import numpy as np
import pytest

import driftduel.policies.king  # noqa: F401
from driftduel._compile import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.games import play
from driftduel.policies import RESTARTED, make_policy
from driftduel.testing import CHECKS
from driftduel.worlds import make_world

pytestmark = pytest.mark.kernels
compiled = pytest.mark.skipif(not jit_enabled(), reason="long runs are for compiled code")


class Twin:
    """The same policy with dictionaries and lists, and a match as the list of its outcomes."""

    def __init__(self, order):
        self.order, self.place = list(order), 0
        self.K, self.king, self.crowned = len(order), order[0], 0
        self.due, self.alarms, self.matches, self.held, self.waited, self.last = 0.0, 0, 0, 0, 0, 0
        self.open, self.record, self.seen = {}, {}, {}

    def ask(self, t):
        if not self.open:
            rate = math.sqrt(self.K * (1 + self.alarms) / t) / 2
            rate += self.K / (2 * max(1, t - self.crowned))
            self.due += min(1, rate)
            if self.due < 1:
                return self.king, self.king
            self.due -= 1
            return self.king, self.new_match()
        if self.waited >= 64 and len(self.open) < self.K - 1:
            return self.king, self.new_match()
        turns = [(self.last + 1 + i) % self.K for i in range(self.K)]
        self.last = next(j for j in turns if j in self.open)
        return self.king, self.last

    def new_match(self):
        free = [j for j in range(self.K) if j != self.king and j not in self.open]
        self.matches += 1
        if self.matches % 4 == 0 and self.held >= self.K - 1:
            j = max(free, key=lambda j: self.record.get(j, 0.5))
        else:
            while True:
                j = self.order[self.place]
                self.place = (self.place + 1) % self.K
                if j in free:
                    break
        self.held, self.waited, self.last = self.held + 1, 0, j
        self.open[j] = []
        return j

    def tell(self, t, first, second, won):
        if first != self.king or second not in self.open:
            return 0
        j = second
        self.waited += 1
        n = self.seen[j] = self.seen.get(j, 0) + 1
        before = self.record.get(j, 0.5)
        self.record[j] = before + max(0.05, 1 / (n + 2)) * ((1 - won) - before)
        self.open[j].append(1 - 2 * won)
        stakes = [0.8 / 2**k for k in range(6)]
        wealth = np.mean([math.prod(1 + s * x for x in self.open[j]) for s in stakes])
        if sum(self.open[j]) == -1 or wealth < 0.001:
            del self.open[j]
            return 0
        fresh, beyond_doubt = 4 * 2 ** (self.held / (self.K - 1)), 50 + self.matches / 2
        established = fresh >= beyond_doubt
        if wealth < (beyond_doubt if established else fresh):
            return 0
        self.king, self.crowned, self.held, self.waited = j, t, 0, 0
        self.open, self.record, self.seen = {}, {}, {}
        self.alarms += established
        return RESTARTED if established else 0


@pytest.mark.parametrize("seed", range(12))
def test_it_plays_like_its_twin(seed):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 7))
    policy = make_policy("king", K, seed)
    twin = Twin(policy.state.order.tolist())
    alarms = 0
    for t in range(1, 3001):
        if t % 500 == 1:  # a new world, sometimes one of near ties, where matches last
            spread = rng.choice([0.05, 0.5])
            p = rng.uniform(0.5 - spread, 0.5 + spread, (K, K))
            p = np.triu(p, 1) + np.tril(1 - p.T, -1)
        first, second, _ = policy.choose(t)
        assert (first, second) == twin.ask(t), t
        won = int(rng.random() < (p[first, second] if first != second else 0.5))
        flags = policy.learn(t, first, second, won, ())
        assert flags == (twin.tell(t, first, second, won) if first != second else 0), t
        alarms += flags == RESTARTED
    assert policy.state.numbers[0].alarms == twin.alarms == alarms


def test_a_match_without_end_is_given_up_when_next_to_nothing_is_left_of_the_bets():
    """The challenger wins and loses in turns, so it is never behind, and every bet loses slowly."""
    policy = make_policy("king", 2, 0)
    pairs, t, stakes = 0, 0, [0.8 / 2**k for k in range(6)]
    while sum((1 - s * s) ** pairs for s in stakes) / 6 >= 0.001:
        pairs += 1
    assert pairs > 8000
    for duel in range(2 * pairs):
        first = second = None
        while first == second:
            t += 1
            first, second, _ = policy.choose(t)
        assert policy.state.numbers[0].matches == 1, f"it was given up after {duel} duels"
        policy.learn(t, first, second, duel % 2, ())
    assert policy.state.numbers[0].open == 0
    assert policy.state.arms["lead"].tolist() == [-1, -1]


@compiled
@pytest.mark.parametrize("check", CHECKS)
def test_it_keeps_the_contract(check):
    CHECKS[check]("king")


@compiled
@pytest.mark.long
@pytest.mark.parametrize("world", ["equal", "in turns", "spiteful"])
def test_false_alarms_stay_below_the_stated_bound(world):
    """No challenger is ever better than the king, so every alarm is false, whatever preferences do.

    equal: always as good; in turns: by the hundred rounds, as good or much worse; spiteful: as good
    while it trails, worse once it leads.
    """
    alarms, bound = 0, 0.0
    for seed in range(20):
        policy, coin = make_policy("king", 4, seed), np.random.default_rng(seed).random(20_000)
        for t in range(1, 20_001):
            first, second, _ = policy.choose(t)
            king, lead = (
                policy.state.numbers[0].king,
                policy.state.arms["lead"][[first, second]].max(),
            )
            worse = {"equal": False, "in turns": t // 100 % 2 == 1, "spiteful": lead > 20}[world]
            king_wins = coin[t - 1] < (0.9 if worse else 0.5)
            first_won = king_wins if first == king else not king_wins
            alarms += policy.learn(t, first, second, int(first_won), ()) == RESTARTED
        bound += 2 * math.log(1 + policy.state.numbers[0].matches / 100)
    assert bound > 20
    assert alarms < bound / 2


@compiled
@pytest.mark.parametrize(
    "world",
    [
        "geometric-btl:arms=10,rounds=100000,phases=1",
        "random-condorcet:arms=5,rounds=100000,phases=50,p_min=0.6,change=background",
    ],
)
def test_it_is_quiet_where_the_winner_stays(world):
    games = [play("king", f"{world},seed={run}", seed=run) for run in range(10)]
    assert sum(len(game.restarts) for game in games) <= 3


@compiled
def test_it_finds_every_switch_of_an_ordinary_world():
    world = make_world("geometric-btl:arms=10,rounds=100000,phases=4,change=winner")
    games = [play("king", world, seed=run) for run in range(10)]
    assert np.mean([len(game.restarts) for game in games]) == pytest.approx(3, abs=0.5)
    best = [play("sw-dts:window=10000", world, seed=run).total for run in range(10)]
    assert np.mean([game.total for game in games]) < np.mean(best)


@pytest.mark.parametrize("field", ["numbers.king", "order", "arms.lead", "bets"])
def test_a_damaged_state_is_refused(field):
    policy = make_policy("king", 4, 0)
    state = {name: array.copy() for name, array in policy.get_state().items()}
    state[field][...] = 7 if field != "bets" else np.nan
    said = (
        "does not hold together"
        if field == "arms.lead"
        else f"the saved {field.partition('.')[0]} of 'king'"
    )
    with pytest.raises(DriftduelError, match=said):
        policy.set_state(state)
