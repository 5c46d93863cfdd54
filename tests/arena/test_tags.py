"""Tags and reasons of votes, and the pick ``both-bad``."""

import pytest

pytest.importorskip("msgspec")

from driftduel.arena import Arena, ArenaError
from driftduel.arena.tags import LONGEST_REASON, check_tags
from tests.arena.clock import Clock


def bodies(arena, kind):
    return [record.body for record in arena.records() if record.kind == kind]


def test_both_bad_is_recorded_apart_and_teaches_what_a_tie_teaches():
    def play(pick):
        arena = Arena(options=["a", "b", "c"], seed=3)
        for number in range(60):
            shown = arena.ask(f"voter {number}")
            even = number % 3 == 0
            best = min(shown.left.name, shown.right.name)
            arena.vote(shown.duel, pick if even else ("left", "right")[shown.right.name == best])
        return arena

    with play("tie") as ties, play("both-bad") as bads:
        assert [b["pair"] for b in bodies(ties, "asked")] == [
            b["pair"] for b in bodies(bads, "asked")
        ]
        one, other = ties.board(), bads.board()
        assert (one.ties, one.both_bad) == (other.both_bad, other.ties) == (20, 0)
        assert one.evidence == other.evidence
        assert one.pairs == other.pairs
        assert {b["pick"] for b in bodies(bads, "voted")} == {"left", "right", "both-bad"}
        assert "20 “both bad”" in str(other)


def test_both_bad_can_be_undone_and_voided():
    clock = Clock()
    with Arena(options=["a", "b"], clock=clock, grace=10.0) as arena:
        shown = arena.ask("ann")
        arena.vote(shown.duel, "both-bad")
        assert arena.board().both_bad == 1
        arena.undo(shown.duel)
        assert arena.board().both_bad == 0
        vote = arena.vote(shown.duel, "both-bad")
        clock.now += 11
        arena.tick()
        assert sum(map(sum, arena.board().pairs.ties)) == 2
        assert arena.void([vote.seq], "a test") == 1
        assert sum(map(sum, arena.board().pairs.ties)) == 0


def test_a_vote_has_the_tags_of_its_duel_and_its_own():
    with Arena(options=["a", "b"], grace=600.0) as arena:
        shown = arena.ask("ann", tags={"lang": "de", "channel": "app"})
        arena.vote(shown.duel, "left", tags={"lang": "en", "age": "x"}, reason="clearer\nshorter")
        arena.undo(shown.duel)
        arena.vote(shown.duel, "right")
        first, second = bodies(arena, "voted")
        assert first["tags"] == {"age": "x", "channel": "app", "lang": "en"}
        assert first["reason"] == "clearer\nshorter"
        assert second["tags"] == {"channel": "app", "lang": "de"}
        assert "reason" not in second
        again = arena.vote(shown.duel, "right", tags={"other": "y"}, reason="more")
        assert again.seq == arena.records()[-1].seq  # the recorded vote, unchanged
        assert len(bodies(arena, "voted")) == 2


@pytest.mark.parametrize(
    "tags",
    [
        {f"key {n}": "x" for n in range(9)},
        {"k" * 65: "v"},
        {"k": "v" * 65},
        {"": "v"},
        {"k": ""},
        {"k": 1},
        {1: "v"},
        {"k": "a\nb"},
        {"k": "\x1b[31m"},
        {"k": "\ud800"},
        ["k"],
        "k=v",
    ],
)
def test_other_tags_are_refused_and_change_nothing(tags):
    with Arena(options=["a", "b"]) as arena:
        shown = arena.ask("ann")
        before = len(arena.records())
        for call in (
            lambda: arena.ask("bob", tags=tags),
            lambda: arena.vote(shown.duel, "left", tags=tags),
        ):
            with pytest.raises(ArenaError) as refused:
                call()
            assert refused.value.problem == "bad-request"
            assert "\n" not in str(refused.value)
            assert len(str(refused.value)) < 200
        assert len(arena.records()) == before
        assert arena.vote(shown.duel, "left").counted


@pytest.mark.parametrize("reason", ["x" * (LONGEST_REASON + 1), "a\0b", "\udc00", None, 3])
def test_other_reasons_are_refused(reason):
    with Arena(options=["a", "b"]) as arena:
        shown = arena.ask("ann")
        with pytest.raises(ArenaError, match="reason"):
            arena.vote(shown.duel, "left", reason=reason)
        arena.vote(shown.duel, "left", reason="x" * LONGEST_REASON)


def test_tags_of_duel_and_vote_together_are_at_most_eight():
    with Arena(options=["a", "b"]) as arena:
        shown = arena.ask("ann", tags={f"a{n}": "x" for n in range(8)})
        with pytest.raises(ArenaError, match="9 tags"):
            arena.vote(shown.duel, "left", tags={"b": "x"})
        arena.vote(shown.duel, "left", tags={"a0": "y"})
        assert bodies(arena, "voted")[0]["tags"]["a0"] == "y"


def test_tags_are_sorted_by_key():
    assert list(check_tags({"b": "1", "a": "2"})) == ["a", "b"]
    assert check_tags(None) == {}
