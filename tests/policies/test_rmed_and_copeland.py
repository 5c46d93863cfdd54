"""RMED1, RMED2, RMED2FH, RCS, CCB and SCB: their rules, the contract, the published figures."""

import math

import numpy as np
import pytest

import driftduel.policies.ccb
import driftduel.policies.rcs
import driftduel.policies.rmed1
import driftduel.policies.rmed2
import driftduel.policies.rmed2fh
import driftduel.policies.scb  # noqa: F401
from driftduel._internal.compiler import jit_enabled
from driftduel.errors import DriftduelError
from driftduel.games import play, trace
from driftduel.policies import POLICIES, load_policy, make_policy, save_policy
from driftduel.preferences import named
from driftduel.worlds import Piecewise, make_world
from tests.policies.runs import outcomes

RMED = ["rmed1", "rmed2", "rmed2fh"]
NAMES = [*RMED, "rcs", "ccb", "scb"]
compiled = pytest.mark.skipif(not jit_enabled(), reason="long runs are for compiled code")


def arrays(policy):
    return {name: array.copy() for name, array in policy.get_state().items()}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def kl_half(p):
    return sum(x * math.log(2 * x) for x in (p, 1 - p) if x > 0)


def rmed_twin(kind, K, T, outcome):
    """Return the duels of RMED, written after the paper with loops over sets."""
    wins = np.zeros((K, K), int)
    pairs = [(i, j) for i in range(K) for j in range(i + 1, K)]
    queue = list(pairs)
    current, following, fixed, duels = set(range(K)), set(), None, []

    def p(i, j):
        return 0.5 if i == j else wins[i, j] / (wins[i, j] + wins[j, i])

    def n(i, j):
        return wins[i, j] + wins[j, i]

    def cheapest(i, best):
        costs = {
            j: max(p(best, i) + p(best, j) - 1, 0.01) / kl_half(p(i, j))
            for j in range(K)
            if p(i, j) < 0.5
        }
        return min(costs, key=costs.get) if costs else best

    for t in range(1, T + 1):
        loglog = max(0.0, math.log(math.log(t))) if t > 1 else 0.0
        least = {"rmed1": 1, "rmed2": 3 * loglog, "rmed2fh": 3 * math.log(math.log(T))}[kind]
        short = [pair for pair in queue if n(*pair) < max(least, 1)]
        if short:
            i, j = short[0]
            k = queue.index(short[0]) + 1
            queue = queue[k:] + queue[:k]
        else:
            losses = [[j for j in range(K) if p(i, j) < 0.5] for i in range(K)]
            I = [sum(n(i, j) * kl_half(p(i, j)) for j in losses[i]) for i in range(K)]  # noqa: E741
            best = I.index(min(I))
            if fixed is None:
                fixed = [cheapest(k, best) for k in range(K)]
            limit = math.log(t) + 0.3 * K**1.01
            following |= {k for k in range(K) if k not in current and I[k] - I[best] <= limit}
            if not current:
                current, following = following, set()
            i = min(current)
            current = current - {i}
            superior = [k for k in range(K) if k != i and p(i, k) <= 0.5]
            j = best
            if superior and best not in superior:
                j = min(superior, key=lambda k: p(i, k))
            if kind != "rmed1":
                b = fixed[i] if kind == "rmed2fh" else cheapest(i, best)
                owed = best in superior and n(i, best) * loglog <= n(i, b)
                if b in superior and not owed:
                    j = b
        won = outcome(t, i, j)
        duels.append((i, j))
        if i != j:
            wins[i, j] += won
            wins[j, i] += 1 - won
    return duels


@pytest.mark.long
@pytest.mark.kernels
@pytest.mark.parametrize("kind", RMED)
@pytest.mark.parametrize("matrix", ["six-rankers", "cyclic", "arithmetic"])
def test_rmed_plays_the_duels_of_its_twin(kind, matrix):
    T = 1200
    world = make_world(f"named:matrix={matrix},rounds={T}")
    outcome = outcomes(world, 5)
    policy = make_policy(kind, world.arms, 0, horizon=T)
    duels = []
    for t in range(1, T + 1):
        duel = policy.ask()
        duels.append((duel.first, duel.second))
        policy.tell_first_won(duel, outcome(t, *duels[-1]))
    expected = rmed_twin(kind, world.arms, T, outcome)
    assert duels == expected


def test_rcs_prefers_the_clear_winner_and_its_least_known_rival():
    policy = make_policy("rcs", 3)
    policy.state.wins[0, 1:] = 1000
    policy.state.wins[0, 2] = 20
    assert policy.choose(10**6)[:2] == (0, 2)


def test_rcs_without_champion_takes_the_least_frequent():
    policy = make_policy("rcs", 3, 1)
    wins = policy.state.wins
    wins[0, 1] = wins[1, 2] = wins[2, 0] = 500  # a cycle
    policy.state.champions[:] = 7, 3, 5
    assert policy.choose(1000)[0] == 1
    np.testing.assert_array_equal(policy.state.champions, [7, 4, 5])


@pytest.mark.long
def test_ccb_learns_a_hypothesis_and_drops_it_when_disproved():
    policy = make_policy("ccb", 3, 1)
    state = policy.state
    state.wins[0, 1] = state.wins[0, 2] = state.wins[1, 2] = 400
    policy.choose(1200)
    np.testing.assert_array_equal(state.best, [1, 0, 0])
    assert state.losses[0] == 0
    assert state.beaters.sum(axis=1).tolist() == [0, 1, 1]  # one beater each is enough
    assert state.beaters[1, 0] == 1
    state.wins[1, 0] = 4000
    state.wins[2, 0] = state.wins[2, 1] = 4000
    policy.choose(15000)
    np.testing.assert_array_equal(state.best, [0, 0, 1])
    assert state.beaters[1, 0] == 0


@compiled
@pytest.mark.long
def test_ccb_and_scb_find_a_copeland_winner_where_there_is_no_condorcet_winner():
    """Arm 0 beats three of four, the others two at most."""
    matrix = np.full((5, 5), 0.5)
    for i, beaten in enumerate([(1, 2, 3), (2, 4), (3, 4), (1, 4), (0,)]):
        for j in beaten:
            matrix[i, j], matrix[j, i] = 0.8, 0.2
    rng = np.random.default_rng(2)
    for name in ("ccb", "scb"):
        policy = make_policy(name, 5, 3)
        both = 0
        for t in range(20000):
            duel = policy.ask()
            both += t >= 10000 and duel.first == duel.second == 0
            policy.tell_first_won(duel, int(rng.random() < matrix[duel.first, duel.second]))
        assert both > 8000, name


@pytest.mark.long
def test_scb_epochs_are_squares_and_begin_from_scratch():
    policy = make_policy("scb", 4, 1)
    budgets = []
    for t in range(1, 400):
        duel = policy.ask()
        budgets.append(policy.state.numbers[0].budget)
        if t in (5, 21, 277):
            assert policy.state.wins.sum() == 0
            assert policy.state.numbers[0].step == 1
        policy.tell_first_won(duel, t % 2)
    assert budgets == [4.0] * 4 + [16.0] * 16 + [256.0] * 256 + [65536.0] * 123


@pytest.mark.kernels
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "world", ["geometric-btl:arms=4,rounds=1500,phases=2", "two-arm:rounds=900"]
)
@pytest.mark.long
def test_the_compiled_loop_plays_the_duels_of_ask_and_tell(name, world):
    game = play(name, world, seed=11)
    rows = trace(name, world, seed=11)
    assert_same(arrays(game.policy), arrays(rows.policy))
    again = play(name, world, seed=11)
    assert again.total == game.total
    assert_same(arrays(game.policy), arrays(again.policy))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arms", [2, 5])
def test_saving_in_the_middle_changes_nothing(name, arms, tmp_path):
    def go_on(policy, duels):
        seen = []
        for t in range(duels):
            duel = policy.ask()
            seen.append(duel)
            policy.tell_first_won(duel, int((t * 7 + duel.first) % 3 > 0))
        return seen

    policy = make_policy(name, arms, 3, horizon=2000)
    go_on(policy, 311)
    save_policy(policy, tmp_path / "policy.npz")
    other = load_policy(tmp_path / "policy.npz")
    assert other.parameters == policy.parameters
    assert go_on(policy, 300) == go_on(other, 300)
    assert_same(arrays(policy), arrays(other))


@pytest.mark.parametrize("name", NAMES)
def test_a_state_that_leads_out_of_the_arrays_is_refused(name):
    policy = make_policy(name, 3, horizon=100)
    for key, value in (("wins", -1.0), ("remaining", 7), ("numbers.scanned", 99)):
        broken = arrays(policy)
        if key not in broken:
            continue
        broken[key][:] = value
        with pytest.raises(DriftduelError, match=f"the saved {key.partition('.')[0]} of"):
            policy.set_state(broken)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arms", [2, 6])
def test_a_reset_restores_the_first_state(name, arms):
    policy = make_policy(name, arms, 3, horizon=2000)
    before = arrays(policy)
    for t in range(600):
        policy.tell_first_won(policy.ask(), t % 2)
    policy.kernels.reset(policy.state)
    assert_same(arrays(policy), before)


@pytest.mark.parametrize("name", NAMES)
def test_late_shuffled_and_missing_answers_do_no_harm(name):
    rng = np.random.default_rng(1)
    T = 3000
    world = make_world(f"total-order:arms=4,rounds={T},phases=1,p=0.9", 1)
    winner = world.condorcet_winners()[0][1]
    outcome = outcomes(world, 3)
    policy = make_policy(name, 4, 5, horizon=T)
    waiting, found = [], 0
    for _ in range(T):
        duel = policy.ask()
        found += duel.round > T - 500 and winner in (duel.first, duel.second)
        waiting.append(duel)
        while len(waiting) > 30:
            late = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.1:
                policy.forget(late)
            else:
                policy.tell_first_won(late, outcome(late.round, late.first, late.second))
    if name != "scb":  # whose epoch may still be exploring
        assert found > 450
    assert np.isfinite(policy.state.wins).all()
    assert (policy.state.wins >= 0).all()
    assert np.diag(policy.state.wins).sum() == 0


@pytest.mark.parametrize("name", RMED)
def test_pairs_whose_answers_are_late_are_not_asked_for_again_at_once(name):
    policy = make_policy(name, 4, horizon=100)
    duels = {policy.ask()[:2] for _ in range(6)}
    assert len(duels) == 6


@pytest.mark.parametrize("name", NAMES)
def test_counts_may_be_discounted_between_rounds(name):
    policy = make_policy(name, 3, 1, horizon=1000)
    for t in range(1000):
        policy.tell_first_won(policy.ask(), t % 2)
        policy.state.wins[:] *= 0.99 if t % 100 else 0.0
    assert np.isfinite(policy.state.wins).all()


@pytest.mark.long
@compiled
@pytest.mark.parametrize("name", NAMES)
def test_an_easy_world_is_learned(name):
    world = "total-order:arms=5,rounds=50000,phases=1,p=0.9"
    uniform = play("uniform", world, seed=1).total
    assert play(name, world, seed=1).total < (0.05 if name == "scb" else 0.01) * uniform


FIGURES = [
    ("rmed1", "named:matrix=six-rankers,rounds=1e5", 265),
    ("rmed2", "named:matrix=six-rankers,rounds=1e5", 309),
    ("rmed2fh", "named:matrix=six-rankers,rounds=1e5", 328),
    ("rmed1", "named:matrix=cyclic,rounds=1e5", 70.5),
    ("rmed2", "named:matrix=cyclic,rounds=1e5", 14.0),
    ("rmed2fh", "named:matrix=cyclic,rounds=1e5", 18.7),
    ("rmed1", "named:matrix=arithmetic,rounds=1e5", 175),
    ("rmed2", "named:matrix=arithmetic,rounds=1e5", 213),
    ("rmed2fh", "named:matrix=arithmetic,rounds=1e5", 245),
    ("rmed1", "named:matrix=linear-order,rounds=20000", 142),
    ("rmed2", "named:matrix=linear-order,rounds=20000", 211),
    ("rcs", "named:matrix=linear-order,rounds=20000", 218),
    ("ccb", "named:matrix=linear-order,rounds=20000", 368),
    ("scb:first_budget=1000", "named:matrix=linear-order,rounds=20000", 1480),
]


@compiled
@pytest.mark.parametrize(("spec", "world", "published"), FIGURES)
@pytest.mark.long
def test_the_published_figures(spec, world, published):
    """COLT 2015, Figure 1, and the programs of Komiyama and of Wu: our mean is near theirs."""
    totals = np.array([play(spec, world, seed=seed).total for seed in range(16)])
    error = totals.std(ddof=1) / 4
    assert abs(totals.mean() - published) < 0.15 * published + 2.5 * error


@compiled
def test_rmed_does_not_profit_from_the_order_of_the_arms():
    """Ties go to the lowest index; with the winner last the regret is the same."""
    matrix = named("linear-order").matrix[::-1, ::-1]
    world = Piecewise([matrix], [1], 20000)
    totals = np.array([play("rmed1", world, seed=seed).total for seed in range(40)])
    assert abs(totals.mean() - 142) < 0.15 * 142 + 2.5 * totals.std(ddof=1) / np.sqrt(40)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("rmed1:weight=-1", "weight=-1 must be"),
        ("rmed2:alpha=-1", "alpha=-1 must be"),
        ("rmed2fh", "needs the key horizon"),
        ("rmed2fh:horizon=1", "horizon=1 must be"),
        ("rcs:alpha=-1", "alpha=-1 must be"),
        ("ccb:alpha=nan", "alpha=nan must be"),
        ("scb:alpha=0", "alpha=0 must be"),
        ("scb:first_budget=1", "first_budget=1 must be"),
    ],
)
def test_bad_parameters_get_one_sentence(spec, said):
    with pytest.raises(DriftduelError) as error:
        POLICIES.build(spec, arms=3, rng=np.random.default_rng(0))
    assert said in str(error.value)
