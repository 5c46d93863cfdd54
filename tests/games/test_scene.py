"""What a game writes down of its world and of its policy is true, and changes nothing."""

import numpy as np
import pytest

from driftduel.games import play, trace
from driftduel.games.replays import nested_replays, replays_at_moments, replays_of
from driftduel.policies.info import Stage
from driftduel.worlds import make_world

GAME = ("anaconda:constant=0.05", "total-order:arms=3,rounds=3000,phases=3,p=0.95,seed=2")


@pytest.mark.parametrize(
    ("world", "benchmark"),
    [
        ("total-order:arms=3,rounds=500,phases=4,p=0.9,seed=1", "condorcet"),
        ("saha-gupta-continuous:arms=4,rounds=700,seed=3", "von-neumann"),
        ("rps-top:arms=4,rounds=900,phases=3,seed=1", "exploitability"),
        ("sleeping:arms=4,rounds=1000,events=12,seed=3,ties=0.2", "condorcet"),
    ],
)
def test_a_game_tells_what_its_world_was_like(world, benchmark):
    made = make_world(world)
    scene = play("uniform", made, benchmark=benchmark).scene
    assert scene.winners == made.condorcet_winners()
    there = [len(made.present(t)) for t in range(1, made.rounds + 1)]
    everyone = all(count == made.arms for count in there)
    assert scene.present == (None if everyone else (min(there), max(there)))
    assert scene.ties == (0.2 if "ties" in world else 0.0)


def test_looking_at_a_policy_changes_nothing():
    plain, watched = play(*GAME, seed=4), play(*GAME, seed=4, stages=[1, 2, 700, 3000])
    assert plain.stages == []
    assert [t for t, _ in watched.stages] == [1, 2, 700, 3000]
    assert plain.restarts == watched.restarts
    assert (plain.curve == watched.curve).all()
    assert (plain.plays == watched.plays).all()


def test_who_has_nothing_to_tell_is_asked_once(monkeypatch):
    from driftduel.policies import Policy

    asked = []
    monkeypatch.setattr(Policy, "stage", lambda self: asked.append(self) or Stage())
    assert play("dts", GAME[1], stages=range(1, 3001)).stages == []
    assert len(asked) == 1


def test_looking_in_every_round_shows_every_replay():
    game = play(*GAME, seed=4, stages=np.arange(1, 3001))
    seen = replays_at_moments(game.stages, 3, game.restarts)
    played = trace(*GAME, seed=4)
    true = replays_of(played)
    assert game.restarts  # or there would be nothing to see
    assert seen.restarts == true.restarts
    longer = {(r.start, r.end) for r in nested_replays(played) if r.last > r.start}
    assert longer <= {(r.start, r.end) for r in seen.replays}
    assert seen.inside == pytest.approx(true.inside, abs=0.03)
    assert seen.episodes == pytest.approx(true.episodes, abs=1)
    assert {arm for _, arm in seen.eliminations} == {arm for _, arm in true.eliminations}
    assert (seen.active.shape, seen.rounds, seen.moments) == ((3, 3000), 3000, 3000)
