"""What people see of objects in a terminal and in a notebook."""

import signal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import driftduel
from driftduel import POLICIES, WORLDS, Piecewise, Preferences, make_policy, make_world
from driftduel.games import play, trace
from driftduel.policies import Doubling, Duel, Policy, Rmed2Fh
from driftduel.specs import Registry

EVAL = {"make_policy": make_policy, "make_world": make_world}


class Own(Policy):
    """A policy that nobody registered, with a name that is not for pages."""

    name = "<b>own</b>"

    def choose(self, t):
        return 0, 1, ()

    def learn(self, t, first, second, won, notes):
        return 0


class Reader(HTMLParser):
    """Read tags and text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


def test_measures_of_many_switches_are_a_few_lines():
    measures = driftduel.measure(make_world("seasonal:arms=4,rounds=5000"))
    assert measures.preference_switches == 4999
    shown = repr(measures).splitlines()
    assert len(shown) == 8
    assert shown[3].split() == ["preference", "switches", "4,999"]
    assert shown[4].split() == ["condorcet", "switches", str(measures.condorcet_switches)]
    assert "4,999" in Reader(measures._repr_html_()).text
    mixed = driftduel.measure(make_world("mixed:arms=4,rounds=1000"))
    assert f"rounds with a winner  {mixed.rounds_with_winner}" in repr(mixed)


def test_a_game_is_a_few_lines():
    game = play("king", "geometric-btl:arms=4,rounds=6000,phases=3", seed=1)
    shown = repr(game).splitlines()
    assert len(shown) == 7
    assert max(map(len, shown)) <= 88
    assert shown[0] == f"king on {game.world.spec}"
    assert shown[1].split() == ["seed", "1"]
    assert shown[2].split() == ["rounds", "6,000"]
    for kind, curve in game.regret.items():
        assert f"{kind} {driftduel._internal.wording.number(curve[-1])}" in shown[3]
    assert shown[4].split() == ["changes", str(len(game.switches))]
    assert shown[5].split()[1].strip(",") == str(len(game.restarts))
    assert "needless" in shown[5]
    assert shown[6].endswith("rounds a second")


def test_the_needless_restarts_of_a_game_are_counted():
    game = play("periodic-rucb:period=500", "two-arm:rounds=3000", seed=1)
    assert game.switches == [1501]
    assert len(game.restarts) == 6
    assert game.needless == 5
    assert "6, 5 of them needless" in repr(game)


def test_all_kinds_of_a_game_are_shown_and_no_number_leaves_its_name():
    game = play("dts", "rps-top:rounds=600,phases=2", seed=1, benchmark="exploitability")
    for kind, curve in game.regret.items():
        assert f"{kind} {driftduel._internal.wording.number(curve[-1])}" in repr(game)


def test_stopped_game_is_marked():
    def stop(done, _):
        signal.raise_signal(signal.SIGINT)

    game = play("uniform", "two-arm:rounds=1000", progress=stop)
    assert not game.finished
    assert f"{game.rounds} of 1,000, then stopped" in repr(game)


def test_a_trace_is_a_few_lines():
    rows = trace("dts", "two-arm:rounds=500", seed=3)
    shown = repr(rows)
    assert len(shown.splitlines()) < 8
    assert f"{(rows.first == rows.second).sum()} of an arm with itself" in shown
    assert "first_won" in shown


@pytest.mark.parametrize(
    "spec",
    [
        "king", "dts:alpha=0.7", "anaconda:constant=0.5", "sw-dts:window=20", "anew-rucb",
        "doubling-rmed2fh:epoch=64",
    ],
)  # fmt: skip
def test_a_policy_shows_what_builds_it_again(spec):
    policy = make_policy(spec, arms=4, horizon=1000)
    again = eval(repr(policy), EVAL)
    assert repr(policy).startswith(f"make_policy('{spec.partition(':')[0]}")
    assert type(again) is type(policy)
    assert again.parameters == policy.parameters
    assert again.arms == 4
    duel = policy.ask()
    policy.tell(duel, duel.first)
    assert repr(policy) == f"<{again!r} after 1 duel>"


def test_policies_that_are_not_what_their_name_says_show_their_class():
    rng = np.random.default_rng(0)
    assert repr(Own(3, rng)) == "Own(arms=3)"
    panel = make_policy("king", 3, mode="panel")
    assert repr(panel) == "make_policy('king', arms=3, mode='panel')"
    by_hand = Doubling(4, rng, Rmed2Fh(4, rng, horizon=9), epoch=64)
    assert repr(by_hand) == "make_policy('doubling-rmed2fh:epoch=64', arms=4)"


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize(
    "spec", ["geometric-btl:arms=4,rounds=90,phases=2", "random-walk:rounds=80,ties=0.2", "two-arm"]
)
def test_a_world_shows_what_builds_it_again(spec, seed):
    world = make_world(spec, seed)
    assert repr(world).startswith(f"make_world('{spec}")
    again = eval(repr(world), EVAL)
    for t in (1, 40, 80):
        assert again.preferences(t) == world.preferences(t)
    assert repr(Piecewise([[[0.5, 0.6], [0.4, 0.5]]], [1], 7)) == "Piecewise(arms=2, rounds=7)"


def test_preferences_show_their_matrix():
    matrix = np.array([[0.5, 0.6, 0.7], [0.4, 0.5, 0.875], [0.3, 0.125, 0.5]])
    shown = repr(Preferences(matrix))
    assert "condorcet_winner=0" in shown
    assert "0.875" in shown
    assert len(repr(Preferences(np.full((300, 300), 0.5))).splitlines()) < 12


def test_registries_show_their_names():
    for registry, kind in ((POLICIES, "policies"), (WORLDS, "worlds")):
        shown = repr(registry)
        names = [entry.name for entry in registry]
        assert shown.splitlines()[0] == f"{len(names)} {kind}"
        assert "".join(shown.split("\n")[1:]).replace(" ", "").split(",") == names
        assert max(map(len, shown.splitlines())) <= 88


def test_notebooks_show_the_same_and_everything_is_escaped():
    world = make_world("two-arm:rounds=50")
    game = play(Own(2, np.random.default_rng(0)), world, seed=1)
    registry = Registry("world")
    policy = make_policy("king", 2, seed=1)
    while (duel := policy.ask()).alone:
        policy.tell(duel, duel.first)

    @registry.register("odd")
    def odd():
        """Give <script> no chance."""

    for thing, said in (
        (game, "<b>own</b>"),
        (trace("dts", world), "dts on two-arm"),
        (registry, "Give <script> no chance."),
        (world.preferences(1), "condorcet_winner"),
        (world, "0 from round 1"),
        (game.policy, "Own(arms=2)"),
        (game.policy.info(), "no leader"),
        (policy, "arm 0 leads"),
        (duel, "Duel: arms 0 and 1"),
        (Duel(3, 3, 1200, (0.25,)), "Duel: arm 3 alone"),
    ):
        page = Reader(thing._repr_html_())
        assert said in page.text
        assert page.tags <= {"p", "table", "tbody", "tr", "th", "td", "pre"}


def test_a_notebook_shows_the_numbers_of_a_world_a_policy_and_a_duel():
    world = make_world("total-order:arms=3,rounds=9000,phases=3,p=0.9", seed=7)
    text = Reader(world._repr_html_()).text
    winners = world.condorcet_winners()
    assert "9,000" in text
    for start, arm in winners:
        assert f"{arm} from round {start:,}" in text
    assert f"changes{len(winners) - 1}" in text
    assert "0.9" in text
    policy = play("king", world, seed=1).policy
    shown = Reader(policy._repr_html_()).text
    assert f"arm {policy.best()} leads" in shown
    assert f"alarms{len(policy.restarts)}" in shown
    assert "9,000 duels" in shown
    duel = Duel(3, 3, 1200, (0.25,))
    assert "1,200" in Reader(duel._repr_html_()).text
    assert "0.25" in Reader(duel._repr_html_()).text


def test_a_notebook_does_not_wait_for_a_long_world_that_drifts():
    world = make_world("seasonal:arms=4,rounds=1e9")
    text = Reader(world._repr_html_()).text
    assert f"{world.preferences(1).condorcet_winner()} in round 1" in text
    assert "changes" not in text


def test_dir_has_the_public_names_and_the_rooms_and_nothing_else():
    names = dir(driftduel)
    rooms = set(names) - set(driftduel.__all__) - {"__version__"}
    assert set(driftduel.__all__) < set(names)
    assert rooms >= {"worlds", "policies", "lab", "games", "measures", "regret", "preferences"}
    inside = Path(driftduel.__path__[0]).iterdir()
    public = {path.stem for path in inside if path.suffix in ("", ".py")}
    assert rooms == {name for name in public if not name.startswith("_")}
    assert driftduel.measures.measure is driftduel.measure
