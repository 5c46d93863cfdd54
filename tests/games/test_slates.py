"""Games of slates: the compiled loop equals ask and tell, regret, and what is refused."""

import signal

import numpy as np
import pytest

from driftduel._internal.compiler import hot
from driftduel.errors import DriftduelError
from driftduel.games import (
    Identification,
    budget,
    knowledge,
    play,
    segments,
    streams,
    trace,
    write_trace,
)
from driftduel.policies import POLICIES, places_of
from driftduel.regret import kinds_of, regret
from driftduel.worlds import WithAbsences, decide, make_world
from tests.games.slate_policies import Listener, Plain, Shower

WORLDS = (
    "geometric-btl:arms=7,rounds=1500,slate=4",
    "random-walk:arms=9,rounds=1500,slate=8,feedback=ranking,delay=7",
    "utilities:arms=6,rounds=1500,slate=3,feedback=ranking,ties=0.3,delay=40",
    "utilities:arms=6,rounds=1500,slate=5,ties=0.3",
    "sleeping:arms=6,rounds=1500,slate=4,feedback=ranking,ties=0.1,delay=3",
)


def both(kind, world, slate, ties="skip"):
    """Return a policy with kernels, and the same in plain Python."""
    pair = [kind(world.arms, np.random.default_rng(5), slate) for _ in range(2)]
    pair[1] = Plain(pair[1])
    for policy in pair:
        policy.configure(ties=ties)
    return pair


def assert_same_games(one, other):
    assert one.restarts == other.restarts
    assert (one.plays == other.plays).all()
    for kind, curve in one.regret.items():
        assert (curve == other.regret[kind]).all()
    fast, slow = one.policy, other.policy
    assert fast.state.log[0] == getattr(slow, "inside", slow).state.log[0]
    assert fast.ledger.open == slow.ledger.open
    assert fast.rng.bit_generator.state == slow.rng.bit_generator.state


@pytest.mark.kernels
@pytest.mark.parametrize("ties", ["skip", "coin"])
@pytest.mark.parametrize("kind", [Shower, pytest.param(Listener, marks=pytest.mark.long)])
@pytest.mark.parametrize("spec", WORLDS)
def test_the_loop_equals_ask_and_tell(spec, kind, ties):
    world = make_world(spec, 4)
    for slate in {2, 3, world.slate}:
        fast, slow = both(kind, world, slate, ties)
        game = play(fast, world, 3, points=7)
        assert_same_games(game, play(slow, world, 3, points=7))
        assert len(fast.ledger.open) == world.chunk(1, 2).delay
        assert all(duel.others == fast.others_of(duel.notes) for duel in fast.ledger.open.values())


def slow_answers(world, seed, shown):
    """Return the code of every slate of a game, decided by its definition."""
    draws = np.random.default_rng(streams(seed)[1]).random((world.rounds, world.slate - 1))
    for t, arms in enumerate(shown):
        preferences = world.preferences(t + 1).matrix
        nothing, left, order = world.nothing_picked, list(range(len(arms))), []
        first = draws[t, 0]
        if len(arms) == 1:
            yield int(first < 0.5)
            continue
        if first >= 1 - nothing:
            yield -1
            continue
        picks = len(arms) - 1 if world.ranked else 1
        for draw in [first / (1 - nothing), *draws[t, 1:]][:picks]:
            # Odds against the first of those left are the ratios of the weights.
            against = preferences[[arms[place] for place in left], arms[left[0]]]
            ends = np.cumsum(against / (1 - against))
            order.append(left.pop(int((draw * ends[-1] >= ends).sum())))
        order += left if world.ranked and len(arms) > 2 else []
        if len(order) == 1:
            yield 1 - order[0] if order[0] < 2 else order[0]
        else:
            yield sum((place + 1) << 4 * (k + 1) for k, place in enumerate(order))


class Told(Listener):
    """A policy that keeps what it was shown and told; it changes nothing else."""

    def __init__(self, arms, rng, slate=2):
        super().__init__(arms, rng, slate)
        self.told = []

    def learn(self, t, first, second, won, notes):
        others = self.others_of(notes)
        self.told.append(((first, second, *others) if first != second else (first,), won))
        return super().learn(t, first, second, won, notes)


@pytest.mark.parametrize("spec", [WORLDS[0], WORLDS[2].replace(",delay=40", ""), WORLDS[3]])
def test_answers_and_regret_are_those_of_the_definitions(spec):
    world = make_world(spec, 4)
    for slate in (2, world.slate):
        inside = Told(world.arms, np.random.default_rng(5), slate)
        game = play(Plain(inside), world, 3, points=np.array([700, 1500]))
        shown, codes = zip(*inside.told, strict=True)
        assert list(codes) == list(slow_answers(world, 3, shown))
        # An arm's own regret is that of its duel with itself.
        losses = [
            regret(world, [arm] * world.rounds, [arm] * world.rounds) for arm in range(world.arms)
        ]
        for kind in game.regret:
            sums = [0.0, 0.0]
            for t, arms in enumerate(shown):
                each = [losses[arm][t] for arm in arms]
                value = {
                    "dynamic": sum(each) / len(each),
                    "weak": min(each),
                    "binary-weak": all(loss > 0 for loss in each),
                    "binary-strong": any(loss > 0 for loss in each),
                }[kind]
                sums[0] += value if t < 700 else 0.0
                sums[1] += value
            np.testing.assert_allclose(game.regret[kind], sums, rtol=1e-12)
        arms, plays = np.unique(
            [arm for arms in shown for arm in (arms * 2 if len(arms) == 1 else arms)],
            return_counts=True,
        )
        assert game.plays[-1][arms].tolist() == plays.tolist()


@pytest.mark.kernels
def test_a_policy_of_duels_has_duels():
    world = make_world("geometric-btl:arms=7,rounds=600,slate=4,feedback=ranking", 4)
    policy = Told(7, np.random.default_rng(5))
    play(Plain(policy), world, 3)
    draws = np.random.default_rng(streams(3)[1]).random((600, 3))[:, 0]
    chunk = world.chunk(1, 601)
    for t, (arms, won) in enumerate(policy.told):
        row = chunk.rows[np.searchsorted(chunk.starts, t + 1, "right") - 1]
        values = chunk.row_values(int(row))
        a, b = arms[0], arms[-1]
        assert won == decide(values, chunk.link, 7, a, b, draws[t], 0.0, False, False)


def test_a_slate_of_two_is_a_game_of_duels():
    plain, same = (
        play("king", f"utilities:rounds=2000,ties=0.2,delay=3{more}", 5)
        for more in ("", ",slate=2,feedback=ranking")
    )
    assert same.world.slate == 2
    assert (plain.plays == same.plays).all()
    for kind, curve in plain.regret.items():
        assert (curve == same.regret[kind]).all()


@pytest.mark.kernels
@pytest.mark.parametrize("spec", [WORLDS[1], WORLDS[4]])
def test_games_do_not_depend_on_how_they_are_divided(spec, monkeypatch):
    world = make_world(spec, 4)
    whole = play(both(Shower, world, world.slate)[0], world, 3)
    monkeypatch.setattr(budget, "MOST_ROUNDS", 37)
    monkeypatch.setattr(segments, "_DRAWS_A_BLOCK", 50)
    monkeypatch.setattr(segments, "_RESTARTS_A_CALL", 2)
    for policy in both(Shower, world, world.slate):
        seen = []
        game = play(policy, world, 3, progress=lambda done, of, seen=seen: seen.append(done))
        assert_same_games(whole, game)
        assert len(whole.restarts) > 3
        assert seen[-1] == world.rounds
        assert np.diff(seen).max() <= 37


def test_outcome_draws_do_not_depend_on_the_policy():
    # The second policy of each pair shows the same arms with and without a third.
    world = make_world("utilities:arms=5,rounds=400,slate=3,feedback=ranking", 2)
    fixed = []
    for slate in (2, 3):
        policy = Told(5, np.random.default_rng(0), slate)
        policy.choose = lambda t, slate=slate: (0, 1, (4.0,) * (slate - 2))
        play(Plain(policy), world, 3)
        fixed.append(policy.told)
    draws = np.random.default_rng(streams(3)[1]).random((400, 2))[:, 0]
    for t, ((_, duel), (_, ranking)) in enumerate(zip(*fixed, strict=True)):
        p = world.preferences(t + 1).matrix
        odds = p[[0, 1, 4], 0] / p[0, [0, 1, 4]]
        ends = np.cumsum(odds) / odds.sum()
        assert duel == (draws[t] < p[0, 1])
        assert places_of(ranking)[0] == int((draws[t] >= ends).sum())


class Wrong(Shower):
    """Choose what no slate may have, in round 20."""

    def __init__(self, arms, rng, wrong):
        super().__init__(arms, rng, 4)
        self.wrong = wrong

    def choose(self, t):
        first, second, notes = super().choose(t)
        return (first, second, notes) if t < 20 else (*self.wrong[:2], self.wrong[2])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((1, 2, (2.0, -1.0)), "chose arms 1, 2 and 2 in round 20; arms are 0 to 5, each at most"),
        ((1, 2, (7.0, -1.0)), "chose arms 1, 2 and 7 in round 20; arms are 0 to 5"),
        ((1, 1, (-1.0, 3.0)), "chose arms 1, 1 and 3 in round 20"),
        ((1, 6, (-1.0, -1.0)), "chose arms 1 and 6 in round 20; arms are 0 to 5"),
    ],
)
def test_arms_that_cannot_be_shown_are_named(wrong, said):
    world = make_world("utilities:arms=6,rounds=60,slate=4", 1)
    with pytest.raises(DriftduelError, match=said):
        play(Plain(Wrong(6, np.random.default_rng(1), wrong)), world, 1)


@hot
def _deaf(state, rng, t, arm, here):
    pass


@hot
def _fixed(state, rng, t, notes):
    notes[0] = state.order[2] if t == 20 else -1
    return state.order[0], state.order[1]


class Fixed(Shower):
    """Show two arms, in round 20 a third one, whether it is present or not."""

    kernels = Shower.kernels._replace(ask=_fixed, change=_deaf)


@pytest.mark.parametrize(
    "third",
    [pytest.param(1, id="repeated"), pytest.param(600, id="none"), pytest.param(3, id="absent")],
)
def test_a_compiled_policy_gets_the_same_error(third):
    world = WithAbsences(
        make_world("utilities:arms=6,rounds=60,slate=3,delay=4", 1), [(15, 3, False)]
    )
    for policy in both(Fixed, world, 3):
        getattr(policy, "inside", policy).state.order[:3] = 0, 1, third
        with pytest.raises(DriftduelError) as error:
            play(policy, world, 1)
        assert str(error.value) == (
            f"policy {policy.name!r} chose arms 0, 1 and {third} in round 20; "
            f"present are 0, 1, 2, 4 and 5, each at most once in a slate."
        )


@pytest.fixture
def registered():
    """Register the policy under its name for the duration of a test."""
    POLICIES.register("shower")(Shower)
    yield
    POLICIES.remove("shower")


@pytest.mark.usefixtures("registered")
def test_the_slates_of_the_world_are_known():
    world = make_world("utilities:arms=5,rounds=300,slate=4", 1)
    assert knowledge("shower", world) == {"horizon": 300, "slate": 4}
    assert knowledge("shower:slate=3", world) == {"horizon": 300}
    assert "slate" not in knowledge("shower", make_world("utilities:rounds=300", 1))
    games = [play(spec, world, 2) for spec in ("shower", "shower:slate=3", "shower:slate=2")]
    assert [game.policy.slate for game in games] == [4, 3, 2]
    assert games[0].plays[-1].sum() > games[1].plays[-1].sum() > games[2].plays[-1].sum() == 600


@pytest.mark.usefixtures("registered")
def test_what_does_not_fit_is_refused_in_one_sentence():
    slates = "utilities:arms=5,rounds=300,slate=3"
    goal = Identification(300)
    for policy, world, keys, said in (
        ("shower:slate=4", "utilities:arms=5,rounds=300", {}, "or add slate=4 to the world"),
        ("shower:slate=4", slates, {}, "up to 4 arms, and this world 3; use slate=3"),
        ("shower:slate=3", "routing:arms=5,rounds=300", {}, "and this world 2; use slate=2.$"),
        ("shower", slates, {"benchmark": "exploitability"}, "for duels, not for slates"),
        ("shower", slates, {"observer": goal}, "not defined for slates; leave out"),
    ):
        with pytest.raises(DriftduelError, match=said) as error:
            play(policy, world, 1, **keys)
        assert "\n" not in str(error.value)
    with pytest.raises(DriftduelError, match="or add slate=4 to the world"):
        trace("shower:slate=4", "utilities:arms=5,rounds=300", 1)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("benchmark", ["von-neumann", "borda", "copeland"])
def test_other_benchmarks_have_slates_too(benchmark):
    game = play("shower", "utilities:arms=5,rounds=300,slate=3", 1, benchmark=benchmark)
    assert set(game.regret) == set(kinds_of(benchmark))
    paper = play("shower", "utilities:arms=5,rounds=300,slate=3", 1)
    if benchmark == "von-neumann":
        assert game.total == pytest.approx(paper.total)
    assert 0 < game.regret[f"{benchmark}-weak"][-1] < game.total


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("spec", [WORLDS[2], WORLDS[3], WORLDS[4]])
def test_a_trace_has_the_slates_and_the_answers(spec, tmp_path):
    game, rows = play("shower", spec, 3), trace("shower", spec, 3)
    assert game.policy.state.log[0] == rows.policy.state.log[0]
    counted = np.zeros(rows.world.arms, np.int64)
    for first, second, others in zip(rows.first, rows.second, rows.others, strict=True):
        np.add.at(counted, [first, second, *others], 1)
    assert (game.plays[-1] == counted).all()
    shown = list(zip(rows.first.tolist(), rows.second.tolist(), rows.others, strict=True))
    codes = slow_answers(
        rows.world, 3, [(a,) if a == b else (a, b, *others) for a, b, others in shown]
    )
    for (a, b, others), code, answer, won in zip(
        shown, codes, rows.answer, rows.first_won.tolist(), strict=True
    ):
        assert answer == tuple((a, b, *others)[place] for place in places_of(code))
        assert won == (code if a == b or code < 0 else int(places_of(code)[0] == 0))
    write_trace(rows, tmp_path / "a.csv")
    head, first, *_ = (tmp_path / "a.csv").read_text().splitlines()
    assert head.endswith(",others,answer")
    cells = first.split(",")
    assert cells[-2:] == [" ".join(map(str, arms)) for arms in (rows.others[0], rows.answer[0])]


@pytest.mark.usefixtures("registered")
def test_stages_progress_and_an_end_by_hand(monkeypatch):
    world = make_world("utilities:arms=5,rounds=3000,slate=3", 1)
    monkeypatch.setattr(budget, "MOST_ROUNDS", 100)
    seen = []

    def stop(done, of):
        seen.append((done, of))
        if done > 1000:
            signal.raise_signal(signal.SIGINT)

    game = play("shower", world, 2, progress=stop, stages=[250, 260])
    assert not game.finished
    assert game.rounds == seen[-1][0] < 3000
    assert game.plays[-1].sum() >= 2 * game.rounds
    whole = play("shower", world, 2, points=np.array([game.rounds, 3000]))
    assert whole.regret["weak"][0] == game.regret["weak"][-1]
    assert game.scene.winners
    assert play("shower", f"{world.spec},ties=0.25", 2).scene.ties == 0.25
