"""The demo: the defaults of `arena new`, two certified changes, and no warning."""

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("polars")

from driftduel.arena import demo as module
from driftduel.arena.settings import settings_of


@pytest.mark.long
def test_the_demo_has_the_defaults_and_certifies_both_changes(monkeypatch):
    made = []

    class ArenaManager(module.ArenaManager):
        def create(self, *args, **settings):
            made.append(settings)
            return super().create(*args, **settings)

    monkeypatch.setattr(module, "ArenaManager", ArenaManager)
    said = []
    board = module.demo(port=0, votes=3400, rate=0.0, browser=False, echo=said.append)
    (settings,) = made
    assert settings_of(5, **settings) == settings_of(5, seed=settings["seed"])
    assert (board.votes, board.learned, board.uncounted, board.late) == (3400, 3400, 0, 0)
    changes = [(change.before, change.after) for change in board.certified_changes]
    assert changes == [
        ("Save an hour a day", "Free for ever"),
        ("Free for ever", "Save an hour a day"),
    ]
    first, second = board.certified_changes
    assert first.from_vote < 1000 < first.to_vote < 2200 < second.to_vote
    assert board.sure
    assert board.warnings == []
    assert "#token=dd-vote-" in said[0]
    assert "dd-own-" not in said[0]
