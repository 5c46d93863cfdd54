"""The board of an arena and the summary of its export agree whenever both are sure."""

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("polars")

from driftduel.arena import Arena
from driftduel.arena.import_export import export_votes
from driftduel.logs import read_log

VOTES = 360


def both(seed):
    """Yield (leader, sure) of the board and (winner, sure) of the log, during a random history."""
    rng = np.random.default_rng([seed, 25])
    utilities = {f"m{k}": float(rng.normal(0, 1.2)) for k in range(int(rng.integers(2, 5)))}
    events = {
        int(vote): kind
        for vote, kind in zip(
            rng.integers(60, VOTES - 60, 3), rng.permutation(["join", "leave", "join"]), strict=True
        )
    }
    with Arena(options=list(utilities), seed=seed) as arena:
        for vote in range(VOTES):
            present = [option.name for option in arena.options() if option.present]
            if events.get(vote) == "join":
                utilities[f"m{len(utilities)}"] = float(rng.normal(0.5, 1.5))
                arena.join(f"m{len(utilities) - 1}")
            elif events.get(vote) == "leave" and len(present) > 2:
                arena.leave(str(rng.choice(present)))
            shown = arena.ask(f"voter-{vote}")
            gap = utilities[shown.left.name] - utilities[shown.right.name]
            arena.vote(shown.duel, "left" if rng.random() < 1 / (1 + np.exp(-gap)) else "right")
            if vote % 120 == 119:
                log = read_log(export_votes(arena._live.store, arena._live.name))
                assert log.counts.adaptive
                now = log.fit("utilities").now
                best, board = arena.best(), arena.board()
                yield (None if best is None else best.name, board["sure"]), (now.winner, now.sure)


@pytest.mark.long
def test_board_and_log_name_the_same_leader_whenever_both_are_sure():
    agreed = 0
    for seed in range(30):
        for (leader, sure), (winner, log_sure) in both(seed):
            if sure and log_sure:
                assert leader == winner, seed
                agreed += 1
    assert agreed >= 10  # otherwise nothing was tested


@pytest.mark.long
def test_a_newcomer_leads_on_both():
    """Three options; a much better one joins at vote 900 of 1,500, and the first leaves later."""
    rng, worth = np.random.default_rng(1), {"old-a": 0.8, "old-b": 0.3, "old-c": 0.0, "NEW": 2.5}
    with Arena(options=["old-a", "old-b", "old-c"], seed=1) as arena:
        for vote in range(1500):
            if vote == 900:
                arena.join("NEW")
            if vote == 1200:
                arena.leave("old-a")
            shown = arena.ask(f"voter {vote}")
            gap = worth[shown.left.name] - worth[shown.right.name]
            arena.vote(shown.duel, "left" if rng.random() < 1 / (1 + np.exp(-gap)) else "right")
        board = arena.board()
        now = read_log(export_votes(arena._live.store, arena._live.name), group="voter").fit().now
    assert (board.leader.name, board.sure) == ("NEW", True)
    assert (now.winner, now.sure) == ("NEW", True)
    present = {option.name for option in board.ranking if option.present}
    assert set(now.chances) == present == {"old-b", "old-c", "NEW"}
