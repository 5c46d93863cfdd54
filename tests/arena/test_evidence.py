"""Stretches of evidence: what is counted, when it is enough, and what two of them certify."""

import math

import numpy as np
import pytest

pytest.importorskip("msgspec")
pytest.importorskip("polars")

from hypothesis import given, strategies as st

from driftduel import evidence as shared
from driftduel.arena import evidence
from driftduel.arena.evidence import (
    LeaderEvidence,
    PairStatement,
    Stretch,
    certainty_needs,
    votes_until_sure,
)
from driftduel.evidence import ALPHA, log_e_value, reaches, threshold


def feed(stretch, votes, voters=None):
    """Count votes (winner, loser), each of another voter; return the statements."""
    found = []
    for winner, loser in votes:
        duel = stretch.counted + 1
        shown = stretch.count(
            winner, loser, 1, voter=duel if voters is None else voters, duel=duel, vote=duel
        )
        found += [shown] if shown else []
    return found


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0.1, 60.0))
def test_the_cheap_comparison_is_the_comparison(wins, losses, bar):
    assert reaches(wins, losses, bar) == (log_e_value(wins, losses) >= bar)


def test_the_cheap_comparison_evaluates_between_its_bounds_only(monkeypatch):
    calls = []
    monkeypatch.setattr(shared, "log_e_value", lambda *counts: calls.append(counts) or 99.0)
    bar = math.log(40)
    assert not reaches(30, 28, bar)
    assert reaches(400, 100, bar)
    assert not calls
    assert reaches(16, 4, math.log(20))
    assert calls == [(16, 4)]


def chance_of_a_claim(wins, votes, level):
    """The exact chance that a fair pair ever reaches e >= level, looked at after every vote."""
    at = np.zeros(votes + 2)
    at[wins], claimed, bar = 1.0, 0.0, wins
    for n in range(wins, votes + 1):
        while bar <= n and not reaches(bar, n - bar, math.log(level)):
            bar += 1
        claimed += at[bar:].sum()
        at[bar:] = 0.0
        at[1:] = at[1:] / 2 + at[:-1] / 2
        at[0] /= 2
    return claimed


def test_looking_after_every_vote_is_allowed_and_counting_the_crowning_vote_is_not():
    level = threshold(1)
    honest = chance_of_a_claim(0, 1500, level)
    assert 0.5 / level < honest < 1 / level  # nothing is wasted, either
    assert chance_of_a_claim(1, 1500, level) > 1 / level


def test_a_voter_counts_once_per_pair_and_stretch():
    stretch = Stretch(leader=0, number=1, rivals_at_start=(1, 2))
    for duel in range(1, 21):
        stretch.count(0, 1, 1, voter=7, duel=duel, vote=duel)
    stretch.count(2, 0, 0, voter=7, duel=21, vote=21)
    assert [(e.wins, e.losses) for e in stretch.evidence([0, 1, 2])] == [(1, 0), (1, 0)]
    assert stretch.voters([0, 1, 2]) == 1
    feed(stretch, [(0, 1)] * 3)
    assert stretch.against(1).wins == 4
    assert stretch.voters([0, 1, 2]) == 4


def test_a_tie_uses_the_voters_vote():
    stretch = Stretch(leader=0, number=1, rivals_at_start=(1,))
    stretch.count(0, 1, -1, voter=7, duel=1, vote=1)
    stretch.count(0, 1, 1, voter=7, duel=2, vote=2)
    assert (stretch.against(1).wins, stretch.against(1).losses, stretch.counted) == (0, 0, 1)


def test_votes_between_two_rivals_are_not_counted():
    stretch = Stretch(leader=0, number=1, rivals_at_start=(1, 2))
    feed(stretch, [(1, 2), (2, 1)])
    assert stretch.counted == 0


def test_sure_needs_every_present_rival():
    stretch = Stretch(leader=0, number=1, rivals_at_start=(1,))
    feed(stretch, [(0, 1)] * 12)
    assert stretch.is_sure([0, 1])
    assert not stretch.is_sure([0, 1, 2])  # one has joined that was never met
    assert not stretch.is_sure([0])  # no rival
    assert not stretch.is_sure([1, 2])  # the leader is absent
    feed(stretch, [(0, 2)] * 12)
    assert stretch.is_sure([2, 1, 0])
    feed(stretch, [(2, 0)] * 8)
    assert not stretch.is_sure([0, 1, 2])  # the votes have turned
    assert [one.rival for one in stretch.evidence([2, 1, 0])] == [1, 2]


def test_a_later_stretch_needs_more_and_more_voters():
    assert [certainty_needs(number) for number in (1, 2, 3, 20)] == [8, 10, 11, 17]
    for number in (1, 2, 3, 20):
        stretch = Stretch(0, number, rivals_at_start=(1,))
        feed(stretch, [(0, 1)] * (certainty_needs(number) - 1))
        assert not stretch.is_sure([0, 1])
        feed(stretch, [(0, 1)])
        assert stretch.is_sure([0, 1])
        assert stretch.against(1).needed == pytest.approx(number * (number + 1) / ALPHA)


def test_evidence_beyond_all_floats_is_a_number():
    found = LeaderEvidence(1, 10_000, 0, log_e_value(10_000, 0), 40.0)
    assert math.isfinite(found.e)
    assert found.is_enough


def test_a_voided_vote_is_taken_back_once_and_its_voter_does_not_count_again():
    stretch = Stretch(leader=0, number=1, rivals_at_start=(1,))
    feed(stretch, [(0, 1)] * 9 + [(1, 0)])
    stretch.void(1, 0, 0, duel=3, vote=10)  # (second won): the leader's third win
    assert (stretch.against(1).wins, stretch.against(1).losses) == (8, 1)
    stretch.void(1, 0, 0, duel=3, vote=10)
    stretch.void(1, 0, 0, duel=99, vote=10)  # of another stretch
    assert (stretch.against(1).wins, stretch.against(1).losses) == (8, 1)
    stretch.count(0, 1, 1, voter=3, duel=11, vote=11)
    assert stretch.against(1).wins == 8
    stretch.void(1, 0, 1, duel=10, vote=11)
    assert stretch.against(1).losses == 0
    assert stretch.is_sure([0, 1])
    stretch.void(0, 1, 1, duel=1, vote=11)
    assert not stretch.is_sure([0, 1])


def test_a_void_ends_the_block_of_its_pair():
    stretch = Stretch(leader=0, number=1, rivals_at_start=(1,))
    feed(stretch, [(0, 1)] * 7)
    stretch.void(0, 1, 1, duel=1, vote=7)
    stretch.void(0, 1, 1, duel=2, vote=7)
    (shown,) = feed(stretch, [(0, 1)] * 14)
    assert shown.from_vote == 7
    assert stretch.rivals[1].block == 3


# -- pair statements


def test_error_shares_of_a_stretch_sum_to_at_most_one():
    for before in (None, 2):
        stretch = Stretch(0, 4, rivals_at_start=(1, 2, 3), before=before)
        feed(stretch, [(0, arm) for arm in (1, 2, 3, *range(4, 60))])
        shares = {arm: rival.share for arm, rival in stretch.rivals.items()}
        assert sum(shares.values()) < 1
        assert sum(shares[arm] for arm in (1, 2, 3)) == pytest.approx(0.9)
        assert shares[2] == (0.3 if before is None else pytest.approx(0.6))
    blocks = [evidence._block_share(block) for block in range(1, 100_000)]
    assert sum(blocks) < 1
    assert sum(blocks) == pytest.approx(1, abs=1e-4)


def test_a_block_ends_exactly_when_its_level_is_reached():
    stretch = Stretch(0, 2, vote=100, rivals_at_start=(1, 2), before=1)
    bars = [math.log(threshold(2) / (0.675 * share)) for share in (0.8, 0.1)]
    starts, wins, vote = [], 0, 100
    for _ in range(40):
        vote += 1
        wins += 1
        shown = stretch.count(0, 1, 1, voter=vote, duel=vote, vote=vote)
        crossed = log_e_value(wins, 0) >= bars[len(starts)]
        assert (shown is not None) == crossed
        if shown is not None:
            starts.append(shown)
            wins = 0
        if len(starts) == 2:
            break
    first, second = starts
    assert first == PairStatement(0, 1, 100, first.to_vote)
    assert second == PairStatement(0, 1, first.to_vote, second.to_vote)


def test_blocks_do_not_reset_the_evidence_of_being_sure():
    stretch = Stretch(0, 1, rivals_at_start=(1,))
    assert len(feed(stretch, [(0, 1)] * 60)) > 2
    assert stretch.against(1).wins == 60


# -- estimates


def test_the_number_of_votes_needed_is_where_the_expected_counts_are_enough():
    found = LeaderEvidence(1, 14, 6, log_e_value(14, 6), 40.0)
    assert not found.is_enough
    needed = votes_until_sure([found], learned=20)
    won, lost = 14 + 20 * 14.5 / 21, 6 + 20 * 6.5 / 21  # one rival: shrunk towards itself
    share = math.exp(log_e_value(won + 1, lost) - log_e_value(won, lost)) / 2
    assert 0.65 < share < 0.75
    for more, there in ((needed - 2, False), (needed, True)):
        log_e = log_e_value(14 + share * more, 6 + (1 - share) * more)
        assert (log_e >= math.log(40)) == there
    assert votes_until_sure([found], learned=40) in (2 * needed - 1, 2 * needed)
    enough = LeaderEvidence(2, 50, 5, log_e_value(50, 5), 40.0)
    with_easy = votes_until_sure([found, enough], learned=20)
    assert 0 < with_easy < needed  # the share against all rivals is larger
    assert votes_until_sure([enough], learned=20) == 0
    assert votes_until_sure([], learned=20) is None
    behind = LeaderEvidence(3, 10, 10, log_e_value(10, 10), 40.0)
    assert votes_until_sure([found, behind], learned=20) is None
    few = LeaderEvidence(3, 4, 0, log_e_value(4, 0), 40.0)
    assert votes_until_sure([few], learned=20) is None
    close = LeaderEvidence(3, 1_000_001, 1_000_000, log_e_value(1_000_001, 1_000_000), 40.0)
    assert votes_until_sure([close], learned=2_000_001) is None


# -- snapshots


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(-1, 1), st.integers(0, 9)),
        max_size=40,
    )
)
def test_a_snapshot_is_the_stretch(votes):
    stretch = Stretch(3, 4, 10, 11, (0, 1), before=1)
    for place, (first, second, won, voter) in enumerate(votes, start=1):
        stretch.count(first, second, won, voter=voter, duel=place, vote=place)
    again = Stretch.from_plain(stretch.to_plain())
    assert again == stretch
    assert again.to_plain() == stretch.to_plain()
    again.count(3, 0, 1, voter=99, duel=99, vote=99)
    assert again != stretch  # nothing is shared


def test_a_stretch_stops_counting_at_its_limit(monkeypatch):
    monkeypatch.setattr(evidence, "_MOST_COUNTED", 5)
    stretch = Stretch(0, 1, rivals_at_start=(1,))
    feed(stretch, [(0, 1)] * 9)
    assert stretch.against(1).wins == 5
