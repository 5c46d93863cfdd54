"""Play: the compiled loop equals ask and tell, and the numbers mean what they say."""

import os
import signal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

from driftduel._internal.compiler import hot, jit_enabled
from driftduel.errors import DriftduelError
from driftduel.games import play, streams, trace
from driftduel.games.budget import CallBudget
from driftduel.games.segments import OutcomeDraws
from driftduel.policies import KernelPolicy, Kernels, Policy, make_policy
from driftduel.regret import KINDS, exploitability, kinds_of, log_rounds, phase_starts, regret
from driftduel.worlds import Piecewise, make_world

SCALE = 1 if jit_enabled() else 10
WORLDS_TO_TRY = [
    "geometric-btl:arms=4,rounds=3000,phases=3",
    "random-walk:arms=3,rounds=2000,sd=0.02",
    "alternating:rounds=2500",
    "seasonal:arms=3,rounds=1500,link=probit",
    "interpolated:arms=3,rounds=1500,knots=3",
]
POLICIES_TO_TRY = [
    "anaconda:constant=0.1",
    "anaconda:constant=0.05,estimate=symmetric",
    "anaconda:rule=freedman,horizon=none",
]


class Stubborn(Policy):
    """Plays a fixed pair and counts."""

    name = "stubborn"

    def __init__(self, arms, rng, pair=(0, 1)):
        super().__init__(arms, rng)
        self.pair, self.won = pair, 0

    def choose(self, t):
        return *self.pair, ()

    def learn(self, t, first, second, won, notes):
        self.won += won
        return 0


@pytest.mark.kernels
@pytest.mark.parametrize("policy", POLICIES_TO_TRY)
@pytest.mark.parametrize("world", WORLDS_TO_TRY)
def test_the_compiled_loop_plays_the_duels_of_ask_and_tell(world, policy):
    if not jit_enabled():
        world = world.replace("00", "0")
    game = play(policy, world, seed=11, points=50)
    rows = trace(policy, world, seed=11)
    assert game.finished
    assert game.restarts == rows.policy.restarts
    for name, array in rows.policy.get_state().items():
        np.testing.assert_array_equal(array, game.policy.get_state()[name])
    for kind, curve in game.regret.items():
        expected = np.cumsum(regret(rows.world, rows.first, rows.second, kind))[game.at - 1]
        np.testing.assert_allclose(curve, expected, rtol=1e-9, atol=1e-7)


@pytest.mark.kernels
@pytest.mark.parametrize("seconds", [0.0, 1e-4, 1e9])
def test_the_length_of_a_call_changes_nothing(seconds, monkeypatch):
    spec = ("anaconda:constant=0.1", "geometric-btl:arms=4,rounds=2000,phases=3")
    one = play(*spec, seed=3)
    monkeypatch.setattr("driftduel.games.budget.MOST_ROUNDS", 37)
    monkeypatch.setattr("driftduel.games.budget._SECONDS_A_CALL", seconds)
    monkeypatch.setattr("driftduel.games.segments._RESTARTS_A_CALL", 1)
    other = play(*spec, seed=3)
    assert one.restarts == other.restarts
    assert len(one.restarts) > 3
    for kind in one.regret:
        np.testing.assert_array_equal(one.regret[kind], other.regret[kind])


@pytest.mark.kernels
def test_the_length_of_a_block_of_outcome_draws_changes_nothing(monkeypatch):
    spec = ("anaconda:constant=0.1", "geometric-btl:arms=4,rounds=2000,phases=3")
    one = play(*spec, seed=3)
    monkeypatch.setattr("driftduel.games.segments._DRAWS_A_BLOCK", 29)
    other = play(*spec, seed=3)
    outcome_draws = np.random.default_rng(streams(3)[1]).random(2000)
    draws = OutcomeDraws(np.random.default_rng(streams(3)[1]))
    cut = np.concatenate([draws.next(n).copy() for n in (1, 16, 29, 1954)])
    np.testing.assert_array_equal(cut, outcome_draws)
    np.testing.assert_array_equal(one.plays, other.plays)
    for kind in one.regret:
        np.testing.assert_array_equal(one.regret[kind], other.regret[kind])


def test_seeds_fix_games_and_streams_are_apart():
    spec = ("anaconda:constant=0.1", "geometric-btl:arms=3,rounds=500,phases=2")
    assert play(*spec, seed=5).total == play(*spec, seed=5).total
    assert play(*spec, seed=5).total != play(*spec, seed=6).total
    # The world's draw does not depend on the policy, nor the luck on who plays.
    worlds = [play(policy, spec[1], seed=5).world.matrices for policy in POLICIES_TO_TRY]
    for matrices in worlds[1:]:
        np.testing.assert_array_equal(worlds[0], matrices)
    assert len({str(stream.spawn_key) for stream in streams(5)}) == 3


def test_plain_python_policies_play_too():
    world = make_world("total-order:arms=3,rounds=2000,phases=1,p=0.8", 1)
    winner = world.condorcet_winners()[0][1]
    loser = (winner + 1) % 3
    policy = Stubborn(3, np.random.default_rng(0), (winner, loser))
    game = play(policy, world, seed=1)
    assert game.finished
    assert abs(policy.won / 2000 - 0.8) < 0.05
    assert game.total == pytest.approx(2000 * 0.15)
    assert game.regret["weak"][-1] == 0
    assert game.regret["binary-weak"][-1] == 0
    assert game.regret["binary-strong"][-1] == 2000


def test_a_number_that_is_the_probability_itself_is_a_defeat():
    """So that an arm that never wins does not, and outcomes have their chances to the last bit."""
    outcome_draws = np.random.default_rng(streams(1)[1]).random()
    for p, won in ((outcome_draws, 0), (np.nextafter(outcome_draws, 1), 1)):
        for a, b in ((0, 1), (1, 0)):  # one of these is the first duel: it is never a self-duel
            matrix = np.full((2, 2), 0.5)
            matrix[a, b], matrix[b, a] = p, 1 - p
            world = Piecewise([matrix], [1], 1)
            traced = trace("rucb", world, seed=1)
            if traced.first[0] == a:
                assert traced.first_won[0] == won
                wins = play("rucb", world, seed=1).policy.state.wins
                assert (wins[a, b], wins[b, a]) == (won, 1 - won)


def test_the_curve_is_log_spaced_and_ends_at_the_last_round():
    game = play("anaconda", "geometric-btl:arms=3,rounds=1000", points=20)
    np.testing.assert_array_equal(game.at, log_rounds(1000, 20))
    assert all(len(curve) == len(game.at) for curve in game.regret.values())
    assert all((np.diff(curve) >= 0).all() for curve in game.regret.values())


@pytest.mark.kernels
@pytest.mark.parametrize("world", WORLDS_TO_TRY)
@pytest.mark.parametrize("policy", [*POLICIES_TO_TRY[:1], "uniform", "wss"])
def test_plays_are_what_a_trace_counts_at_each_mark(world, policy):
    if not jit_enabled():
        world = world.replace("00", "0")
    game = play(policy, world, seed=12, points=30)
    rows = trace(policy, world, seed=12)
    arms = game.world.arms
    assert game.plays.shape == (len(game.at), arms)
    for end, counted in zip(game.at, game.plays, strict=True):
        expected = np.zeros(arms, np.int64)
        for first, second in zip(rows.first[:end], rows.second[:end], strict=True):
            expected[first] += 1  # a duel of an arm with itself counts twice
            expected[second] += 1
        np.testing.assert_array_equal(counted, expected)


def test_plays_of_plain_python_policies_and_across_calls(monkeypatch):
    monkeypatch.setattr("driftduel.games.budget.MOST_ROUNDS", 37)
    at = [1, 36, 37, 38, 100]
    policy = Stubborn(3, np.random.default_rng(0), (2, 2))
    game = play(policy, "geometric-btl:arms=3,rounds=100", points=at)
    np.testing.assert_array_equal(game.plays, [[0, 0, 2 * t] for t in at])
    game = play("uniform", "geometric-btl:arms=3,rounds=100", points=at)
    np.testing.assert_array_equal(game.plays.sum(axis=1), [2 * t for t in at])


@pytest.mark.parametrize(
    "world",
    [
        *WORLDS_TO_TRY,
        "geometric-btl:arms=3,rounds=500,phases=1",
        "total-order:arms=4,rounds=1000,phases=7,lengths=random",
        "random-walk:arms=60,rounds=2000,sd=0.05",  # many chunks
        "total-order:arms=3,rounds=200,phases=4",  # switches where calls begin
        "two-arm:rounds=2",
    ],
)
@pytest.mark.parametrize("policy", ["uniform", "stubborn"])
def test_switches_are_the_rounds_in_which_the_winner_changes(world, policy, monkeypatch):
    monkeypatch.setattr("driftduel.games.budget.MOST_ROUNDS", 50)
    drawn = make_world(world, 9)
    player = policy if policy == "uniform" else Stubborn(drawn.arms, np.random.default_rng(0))
    game = play(player, drawn, seed=1)
    starts = [first for first, _ in drawn.condorcet_winners()]
    assert game.switches == starts[1:]
    if "phases=4" in world:
        assert game.switches == [51, 101, 151]


def test_switches_with_rounds_that_have_no_winner():
    cycle = make_world("cycle:rounds=1").preferences(1).matrix
    order = make_world("total-order:arms=3,rounds=1,phases=1").preferences(1).matrix
    world = Piecewise(np.array([order, cycle, order]), [1, 40, 60], 100)
    game = play("uniform", world, benchmark="borda")
    assert game.switches == [first for first, _ in world.condorcet_winners()][1:] == [40, 60]


@pytest.mark.parametrize("benchmark", ["borda", "copeland"])
@pytest.mark.parametrize(
    "spec", ["clash:rounds=600,phases=6", "rps-top:arms=5,rounds=600,phases=6", "random-condorcet"]
)
def test_switches_are_those_of_the_arms_with_the_best_score(spec, benchmark):
    world = make_world(spec, seed=4)
    best = []
    for t in world.starts.tolist():
        preferences = world.preferences(t)
        scores = (
            preferences.borda_scores() if benchmark == "borda" else preferences.copeland_scores()
        )
        best.append(tuple(np.flatnonzero(scores > scores.max() - 1e-9)))
    switches = [t for t, a, b in zip(world.starts[1:], best, best[1:], strict=False) if a != b]
    assert play("uniform", world, benchmark=benchmark).switches == switches
    assert switches
    if spec.startswith("rps"):  # equal scores are equal, whatever order they were added up in
        assert all(len(arms) == 3 for arms in best)


def test_points_may_be_the_rounds_themselves():
    spec = ("anaconda:constant=0.1", "geometric-btl:arms=3,rounds=1000,phases=2")
    at = [1, 2, 77, 500, 501, 1000]
    game = play(*spec, seed=2, points=at)
    every = play(*spec, seed=2, points=np.arange(1, 1001))
    np.testing.assert_array_equal(game.at, at)
    np.testing.assert_array_equal(every.at, np.arange(1, 1001))
    for kind, curve in game.regret.items():
        np.testing.assert_array_equal(curve, every.regret[kind][np.array(at) - 1])
    np.testing.assert_array_equal(game.plays, every.plays[np.array(at) - 1])
    assert game.total == every.total == play(*spec, seed=2).total


def test_the_last_round_is_there_even_if_it_was_not_asked_for():
    game = play("uniform", "two-arm:rounds=100", points=[10, 20])
    np.testing.assert_array_equal(game.at, [10, 20, 100])
    assert game.plays[-1].sum() == 200
    assert all(len(curve) == 3 for curve in game.regret.values())


@pytest.mark.parametrize("points", [[], [0, 5], [5, 101], [5, 5], [7, 5], [-3]])
def test_rounds_that_are_not_there_or_do_not_ascend(points):
    with pytest.raises(DriftduelError, match="points must be ascending rounds between 1 and 100"):
        play("uniform", "two-arm:rounds=100", points=points)


def test_worlds_without_a_winner_need_another_benchmark():
    with pytest.raises(DriftduelError) as error:
        play("anaconda", "cycle:rounds=100")
    assert "no Condorcet winner in round 1, so" in str(error.value)
    assert "add --benchmark exploitability" in str(error.value)
    for benchmark in ("von-neumann", "exploitability", "borda", "copeland"):
        assert play("anaconda", "uniform-random:rounds=100", benchmark=benchmark).finished
    with pytest.raises(DriftduelError, match="did you mean exploitability"):
        play("anaconda", "cycle:rounds=100", benchmark="exploitabilty")


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("spec", ["rps-top:rounds=3000,phases=3", "mixed:rounds=2000,phases=2"])
def test_a_game_for_exploitability(compiled, spec):
    world = make_world(spec, seed=5)

    def policy():
        return "king" if compiled else Stubborn(world.arms, np.random.default_rng(0), (0, 3))

    at = np.array([3, 50, 999, 1500, 2000])
    game = play(policy(), world, 1, points=at, benchmark="exploitability")
    every = play(policy(), world, 1, points=np.arange(1, world.rounds + 1), benchmark="von-neumann")
    np.testing.assert_array_equal(game.at, np.unique([*at, world.rounds]))
    np.testing.assert_array_equal(game.plays, every.plays[game.at - 1])
    starts = phase_starts(world)
    assert game.switches == every.switches == starts[1:].tolist()
    assert game.regret.keys() == {*every.regret, "exploitability", "borda", "copeland"}
    for kind, curve in every.regret.items():
        np.testing.assert_array_equal(game.regret[kind], curve[game.at - 1])
    for i, t in enumerate(game.at):
        begun = starts[starts <= t]
        whole = exploitability(world, every.at[:t], every.plays[:t], begun).sum()
        assert game.regret["exploitability"][i] == pytest.approx(whole, abs=1e-9)
    for benchmark in ("borda", "copeland"):
        other = play(policy(), world, 1, points=at, benchmark=benchmark)
        np.testing.assert_allclose(game.regret[benchmark], other.regret[benchmark], atol=1e-8)
        assert other.total == other.regret[benchmark][-1]
    assert game.total == game.regret["exploitability"][-1]


@pytest.mark.parametrize(
    "world", ["geometric-btl:arms=4,rounds=3000,phases=4", "random-walk:rounds=2000"]
)
def test_a_game_against_von_neumann_is_the_papers_where_there_is_a_winner(world):
    paper, neumann = (
        play("king", world, 2, benchmark=benchmark) for benchmark in ("condorcet", "von-neumann")
    )
    assert paper.switches == neumann.switches
    assert list(paper.regret) == list(kinds_of("condorcet"))
    for curve, same in zip(paper.regret.values(), neumann.regret.values(), strict=True):
        np.testing.assert_array_equal(curve, same)


@pytest.mark.kernels
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("benchmark", ["condorcet", "von-neumann", "borda", "copeland"])
def test_every_kind_of_regret_is_what_it_is_called(benchmark, compiled):
    """A game adds up what `regret` says of its duels, under the name by which that knows it."""
    world = make_world("total-order:arms=4,rounds=300,phases=2", seed=2)
    rows = trace("rucb", world, seed=1)

    class Again(Policy):
        name = "again"

        def choose(self, t):
            return int(rows.first[t - 1]), int(rows.second[t - 1]), ()

        def learn(self, t, first, second, won, notes):
            return 0

    policy = "rucb" if compiled else Again(4, np.random.default_rng(0))
    game = play(policy, world, seed=1, benchmark=benchmark)
    assert game.benchmark == benchmark
    assert tuple(game.regret) == kinds_of(benchmark)
    for kind, curve in game.regret.items():
        assert KINDS[kind].benchmark == benchmark
        expected = np.cumsum(regret(world, rows.first, rows.second, kind))[game.at - 1]
        np.testing.assert_allclose(curve, expected, atol=1e-9)
    assert game.total == game.curve[-1] == game.regret[kinds_of(benchmark)[0]][-1] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("anacondo", "two-arm"), "did you mean anaconda"),
        (("anaconda", "two-arms"), "did you mean two-arm"),
        (("anaconda:horizon=1", "two-arm"), "horizon=1 must be"),
        (("anaconda", "two-arm", -1), "seed=-1"),
    ],
)
def test_bad_input(arguments, said):
    with pytest.raises(DriftduelError) as error:
        play(*arguments)
    assert said in str(error.value)


def test_too_few_points():
    with pytest.raises(DriftduelError, match="points=0 must be"):
        play("uniform", "two-arm", points=0)


def test_after_its_horizon_the_root_goes_on():
    rows = trace("anaconda:horizon=100", "two-arm:rounds=300", seed=0)
    ended = np.arange(1, 301) > rows.replay_end
    assert ended.any()
    assert (rows.replay_start[ended] == rows.episode_start[ended]).all()
    assert set(rows.replay_end[ended].tolist()) == {101}


def test_a_used_or_foreign_policy_is_refused():
    policy = make_policy("anaconda", 3, horizon=10)
    with pytest.raises(DriftduelError, match="fresh policy for 2 arms"):
        play(policy, "two-arm:rounds=10")
    policy = make_policy("anaconda", 2, horizon=10)
    policy.ask()
    with pytest.raises(DriftduelError, match="asked 1 times"):
        play(policy, "two-arm:rounds=10")


def test_a_policy_that_asks_for_an_arm_that_is_not_there():
    with pytest.raises(DriftduelError, match="chose arms 0 and 9 in round 1"):
        play(Stubborn(3, np.random.default_rng(0), (0, 9)), "geometric-btl:arms=3,rounds=5")


class Astray(KernelPolicy):
    """Asks for an arm that is not there, from some round on."""

    name = "astray"

    def __init__(self, arms, rng, since=1, arm=9):
        super().__init__(arms, rng)
        self.state = AstrayState(np.array([since, arm]))


class AstrayState(NamedTuple):
    numbers: Any


@hot
def _astray_ask(state, rng, t, notes):
    return 0, state.numbers[1] if t >= state.numbers[0] else 1


@hot
def _astray_tell(state, t, first, second, won, notes):
    return 0


Astray.kernels = Kernels(_astray_ask, _astray_tell)


@pytest.mark.kernels
@pytest.mark.parametrize(
    "world", ["geometric-btl:arms=3,rounds=500", "random-walk:arms=3,rounds=500"]
)
@pytest.mark.parametrize("arm", [3, -1, 2**40, -(2**63)])
@pytest.mark.parametrize("since", [1, 2, 300, 500])
def test_a_kernel_that_asks_for_an_arm_that_is_not_there(since, arm, world):
    policy = Astray(3, np.random.default_rng(0), since, arm)
    said = f"'astray' chose arms 0 and {arm} in round {since}; arms are 0 to 2"
    with pytest.raises(DriftduelError, match=said):
        play(policy, world)
    assert policy.info().rounds == since - 1
    with pytest.raises(DriftduelError, match=said):
        policy.ask()
    assert policy.info().rounds == since - 1


def test_ctrl_c_keeps_what_was_reached():
    class Pressing(Stubborn):
        def choose(self, t):
            if t == 5_000:
                os.kill(os.getpid(), signal.SIGINT)
            return super().choose(t)

    game = play(Pressing(2, np.random.default_rng(0)), "two-arm:rounds=100000", seed=1)
    assert not game.finished
    assert 5_000 <= game.rounds < 100_000
    assert game.at[-1] == game.rounds
    assert len(game.regret["dynamic"]) == len(game.at)


@pytest.mark.parametrize("policy", ["dts", "stubborn"])
def test_ctrl_c_ends_even_the_slowest_game(policy):
    """The first call plays one round and none plays many more than the last: see `CallBudget`."""
    reached = []

    def press(done, total):
        reached.append(done)
        if len(reached) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    player = policy if policy == "dts" else Stubborn(300, np.random.default_rng(0))
    before = signal.getsignal(signal.SIGINT)
    world = make_world("geometric-btl:arms=300,rounds=100000,phases=2,change=winner")
    game = play(player, world, progress=press)
    assert signal.getsignal(signal.SIGINT) == before
    assert len(world.condorcet_winners()) == 2
    assert game.switches == []  # it lies ahead
    assert reached[0] == 1
    assert len(reached) == 2
    assert game.rounds == reached[1] <= 17
    assert not game.finished


def test_a_call_takes_a_fifth_of_a_second():
    pace = CallBudget()
    assert pace.rounds == 1
    for seconds_a_round in (0.05, 1e-5, 0.5, 1e-3):
        took, rounds = [], []
        for _ in range(12):
            rounds.append(pace.rounds)
            took.append(pace.rounds * seconds_a_round)
            pace.note(pace.rounds, took[-1])
        assert pace.rounds == pytest.approx(max(1, 0.2 / seconds_a_round), abs=1)
        # Whoever gets slower by a factor of 16 is noticed after 16 times 0.2 s, and so on.
        assert all(after <= 16 * before for before, after in pairwise(rounds))
    pace.note(pace.rounds, 0.0)  # a clock that stands still
    assert 1 <= pace.rounds <= 1 << 17


def test_progress_reaches_the_end():
    seen = []
    play(
        "anaconda", "two-arm:rounds=100000", progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (100_000, 100_000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.skipif(not jit_enabled(), reason="a million rounds are for compiled code")
@pytest.mark.parametrize("arms", [2, 5, 10])
def test_no_needless_restarts_on_stationary_worlds(arms):
    for seed in range(20):
        game = play("anaconda:constant=0.5", f"utilities:arms={arms},rounds=1e6,phases=1", seed)
        assert game.restarts == []


@pytest.mark.skipif(not jit_enabled(), reason="ten million rounds are for compiled code")
@pytest.mark.long
@pytest.mark.parametrize("arms", [2, 5])
def test_as_many_episodes_as_phases(arms):
    """Five well-separated phases at T = 1e7 give five episodes in nearly every run."""
    world = f"total-order:arms={arms},rounds=1e7,phases=5,p=0.8"
    episodes = [1 + len(play("anaconda:constant=0.5", world, seed).restarts) for seed in range(8)]
    assert episodes.count(5) >= 7
    switches = np.array(make_world(world).starts[1:])
    restarts = np.array(play("anaconda:constant=0.5", world, 0).restarts)
    assert (restarts > switches).all()


def test_a_game_on_one_matrix_of_a_hundred_million_rounds_is_lazy():
    world = Piecewise([make_world("named").preferences(1)], [1], 10**12)
    chunk = next(world.chunks(limit=1000))
    assert chunk.end == 1001
