"""Games and saved states of an earlier commit: the same to the bit, except for declared changes.

`earlier-games.zip` was written by `earlier_games.py` with the package of the commit before names
and layout were changed. A policy whose games move on purpose is added to `MOVED`, with the
sentence of the changelog that says so.
"""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from driftduel import policy_from_bytes
from tests.games.earlier_games import CASES, play_case

FILE = Path(__file__).with_name("earlier-games.zip")
MOVED: dict[str, str] = {}
"""Policies whose games differ from those of the file, and the changelog's words about it."""
CHANGELOG = " ".join((Path(__file__).parents[2] / "CHANGELOG.md").read_text("utf-8").split())


def recorded():
    """Return digest and saved state of each case."""
    with zipfile.ZipFile(FILE) as archive:
        games = json.loads(archive.read("games.json"))["games"]
        return [
            pytest.param(*game["case"], game["digest"], archive.read(f"{number}.npz"))
            for number, game in enumerate(games)
        ]


def content_of(state, without=()):
    """Return header and arrays of a saved state; zip files differ in more than content."""
    with np.load(io.BytesIO(state)) as file:
        header = json.loads(str(file["header"][()]))
        arrays = {name: file[name].tobytes() for name in file.files if name != "header"}
    for key in without:
        del header["parameters"][key]
    for duel in (*header["pending"], *(duel for duel, _ in header["held"])):
        if duel[4:] == [[]]:  # a duel of two arms, as this version writes it
            del duel[4]
    return header, arrays


def test_all_cases_are_recorded_and_moved_policies_are_declared():
    with zipfile.ZipFile(FILE) as archive:
        games = json.loads(archive.read("games.json"))["games"]
    assert [tuple(game["case"]) for game in games] == CASES
    assert len(CASES) >= 60
    assert all(words in CHANGELOG for words in MOVED.values())


@pytest.mark.long
@pytest.mark.parametrize(("policy", "world", "mode", "digest", "state"), recorded())
def test_a_game_and_its_state_are_those_of_the_earlier_commit(policy, world, mode, digest, state):
    played, own = play_case(policy, world, mode)
    if policy in MOVED:
        assert played != digest
        return
    assert played == digest
    loaded = policy_from_bytes(state)  # a saved state of the earlier commit is read
    again = policy_from_bytes(own)
    assert type(loaded).__name__ == type(again).__name__
    assert loaded.parameters == again.parameters  # keys that were added have their defaults
    added = again.parameters.keys() - content_of(state)[0]["parameters"].keys()
    assert content_of(own, without=added) == content_of(state)
