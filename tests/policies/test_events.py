"""A log keeps what happened, as columns and as lines, and refuses what cannot have."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from driftduel.errors import DriftduelError, LogError
from driftduel.policies import KINDS, Event, EventLog, Recorder, make_policy

rounds, arms = st.integers(1, 1 << 53), st.integers(0, (1 << 31) - 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
events = st.one_of(
    st.builds(
        lambda t, a, b, notes: Event("asked", t, a, b, notes=tuple(notes)),
        rounds, arms, arms, st.lists(numbers, max_size=4),
    ),
    st.builds(lambda t, a: Event("told", t, a), rounds, arms),
    st.builds(lambda t, won: Event("decided", t, won=won), rounds, st.integers(0, 1)),
    st.builds(lambda t, kind: Event(kind, t), rounds, st.sampled_from(["tied", "forgotten"])),
    st.builds(lambda kind, a: Event(kind, arm=a), st.sampled_from(["joined", "left"]), arms),
    st.builds(
        lambda a, b, won, weight: Event("heard", 0, a, b, won, (weight,)),
        arms, arms, st.integers(-1, 1), numbers,
    ),
)  # fmt: skip


@given(st.lists(events, max_size=20), st.integers(-5, 25), st.integers(-5, 25))
def test_columns_and_lines_give_the_same_log(written, begin, end):
    log = EventLog(written)
    assert len(log) == len(written)
    assert list(log) == written
    assert EventLog.from_columns(*log.columns()) == log
    assert EventLog.from_lines(log.to_lines()) == log
    assert EventLog.from_lines("".join(log.to_lines())) == log
    assert list(EventLog.from_columns(*log.columns(begin, end))) == written[begin:end]


def test_what_a_kind_has_no_use_for_is_not_kept():
    columns = np.array([0, 5]), np.array([1, 77]), np.array([2, 3]), np.array([0, 9]), np.zeros(2)
    log = EventLog.from_columns(*(column.astype(int) for column in columns))
    assert list(log) == [Event("asked", 1, 2, 0), Event("joined", arm=3)]
    lines = ['{"kind": "tied", "round": 3, "arm": "?", "at": "12:30"}', "", "  "]
    assert list(EventLog.from_lines(lines)) == [Event("tied", 3)]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event("won", 1), "has the kind 'won'; it must be one of asked, told"),
        (Event("told", 0, 1), "has round=0; for the kind 'told' it must be from 1 to"),
        (Event("told", 1), "has arm=-1; for the kind 'told' it must be from 0 to"),
        (Event("told", 1, 1 << 31), "has arm=2147483648"),
        (Event("told", 1, True), "has arm=True; it must be a whole number"),
        (Event("told", 1.0, 1), "has round=1.0; it must be a whole number"),
        (Event("tied", 1, 2), "has arm=2; the kind 'tied' does not use"),
        (Event("decided", 1), "has won=-1; for the kind 'decided' it must be from 0 to 7"),
        (Event("joined", 1, 2), "has round=1; the kind 'joined' does not use"),
        (Event("tied", 1, notes=(1.0,)), "has 1 notes; one of the kind 'tied' has from 0 to 0"),
        (Event("heard", 0, 1, 2, 1), "has 0 notes; one of the kind 'heard' has from 1 to 65"),
        (Event("asked", 1, 1, 2, notes=("x",)), "has the notes ('x',); they must be numbers"),
        (Event("asked", 1, 1, 2, notes=(10**400,)), "has the notes (1000000"),
    ],
)
def test_what_is_no_event_is_refused_with_its_place(event, said):
    log = EventLog([Event("tied", 1)])
    with pytest.raises(LogError) as error:
        log.extend([Event("tied", 2), event])
    assert str(error.value).startswith(f"event 2 of the log {said}")
    assert error.value.place == 2
    assert list(log) == [Event("tied", 1), Event("tied", 2)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "the JSON in it cannot be read"),
        ("[" * 100_000, "nested too deeply"),
        ("7", "an event's kind must be one of asked, told"),
        ('{"kind": []}', "an event's kind must be one of"),
        ('{"kind": "told", "round": 3}', "of the kind 'told' must have the key 'arm'"),
        ('{"kind": "told", "round": null, "arm": 0}', "has round=None; it must be a whole number"),
        ('{"kind": "told", "round": 1e3, "arm": 0}', "has round=1000.0"),
        ('{"kind": "asked", "round": 1, "arm": 0, "other": 1, "notes": 3}', "a list of numbers"),
        ('{"kind": "asked", "round": 1, "arm": 0, "other": 1, "notes": [[]]}', "must be numbers"),
        ('{"kind": "asked", "round": 1, "arm": 0, "other": 1, "notes": [NaN]}', "has NaN where"),
    ],
)
def test_a_line_that_is_no_event_is_refused_with_its_place(line, said):
    with pytest.raises(LogError, match="event 1 of the log") as error:
        EventLog.from_lines(['{"kind": "tied", "round": 1}', "", line])
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250
    assert error.value.place == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": [0, 10, 11]}, "event 1 of the log has the kind 10; it must be from 0 to 9"),
        ({"round": [1, -1, 0]}, "event 1 of the log has round=-1"),
        ({"other": [-1, 5, 5]}, "event 0 of the log has other=-1; for the kind 'asked'"),
        ({"noted": [0, 1, 0]}, "event 1 of the log has 1 notes; one of the kind 'told'"),
        ({"noted": [1, 0, 0]}, "a log has 0 notes; by its column 'noted' it has 1"),
        ({"won": [0, 0]}, "the column 'won' of a log has 2 numbers, 'kind' 3"),
        ({"arm": [0.5, 1, 2]}, "the column 'arm' of a log must be a 1-D integer array"),
        ({"arm": [[0, 1, 2]]}, "the column 'arm' of a log must be a 1-D integer array"),
    ],
)
def test_columns_that_are_no_log_are_refused(change, said):
    columns = {"kind": [0, 1, 3], "round": [1, 1, 2], "arm": [0, 1, 0], "other": [1, 0, 0],
               "won": [0, 0, 0], "noted": [], "notes": []}  # fmt: skip
    assert len(EventLog.from_columns(**columns)) == 3
    with pytest.raises(DriftduelError) as error:
        EventLog.from_columns(**{**columns, **change})
    assert str(error.value).startswith(said)


def test_all_kinds_are_recorded_and_refusals_are_not():
    life = Recorder(make_policy("dts", 3, seed=1))
    duels = [life.ask() for _ in range(5)]
    life.tell(duels[0], duels[0].second)
    life.tell_first_won(duels[1], 1)
    life.tell(duels[2], None)
    life.forget(duels[3])
    for wrong in (
        lambda: life.tell(duels[0], duels[0].first),
        lambda: life.tell(duels[4], 7),
        lambda: life.tell_first_won(duels[4], 2),
        lambda: life.forget(duels[3]),
        lambda: life.retire(9),
        lambda: life.admit(0),
        lambda: life.add_past_vote(0, 0, 0),
    ):
        with pytest.raises(DriftduelError):
            wrong()
    assert [event.kind for event in life.log] == [*["asked"] * 5, *KINDS[1:5]]
    assert life.log[5] == Event("told", 1, duels[0].second)
    assert life.policy.ledger.open == {5: duels[4]}


def test_events_may_be_written_anywhere():
    lines = []

    class Printer:
        def append(self, event):
            lines.append(json.loads(event.to_json()))

    life = Recorder(make_policy("exp3s", 3, seed=1, horizon=10, switches=1), Printer())
    duel = life.ask()
    life.tell(duel, duel.first)
    assert lines == [
        {"kind": "asked", "round": 1, "arm": duel.first, "other": duel.second,
         "notes": list(duel.notes)},
        {"kind": "told", "round": 1, "arm": duel.first},
    ]  # fmt: skip
