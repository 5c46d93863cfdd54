"""What can go wrong with a request, by name, so that every surface says the same."""

from driftduel.errors import DriftduelError

__all__ = ["PROBLEMS", "ArenaError"]

PROBLEMS = {
    "no-token": (401, "a token is needed"),
    "wrong-scope": (403, "the token does not allow this"),
    "cross-site": (403, "the request came from another site"),
    "no-such-arena": (404, "there is no such arena"),
    "no-such-duel": (404, "this is no duel of the arena"),
    "no-such-option": (404, "there is no such option"),
    "no-such-voter": (404, "there is no such voter"),
    "no-such-hook": (404, "there is no such webhook"),
    "not-found": (404, "there is nothing here"),
    "method-not-allowed": (405, "this cannot be done here"),
    "too-slow": (408, "the request took too long"),
    "already-answered": (409, "the duel was answered before, and otherwise"),
    "too-late": (409, "it is too late for that"),
    "name-taken": (409, "this name is taken"),
    "closed": (409, "the arena is closed"),
    "nothing-left": (409, "there is nothing left to compare today"),
    "duel-lost": (410, "the duel was lost before it was written down"),
    "too-large": (413, "the body is too long"),
    "wrong-media-type": (415, "the body is not JSON"),
    "bad-address": (422, "this address cannot be used"),
    "bad-vote": (422, "this is no answer"),
    "bad-request": (422, "the request makes no sense"),
    "too-many": (429, "there are too many"),
    "broken": (500, "the server made a mistake"),
    "damaged-log": (500, "the log of the arena is damaged"),
    "no-answer": (502, "the server does not answer, or not as an arena does"),
    "store-trouble": (503, "the store does not take it"),
    "owned-elsewhere": (503, "another process has this arena"),
}
"""Name to HTTP status and title."""


class ArenaError(DriftduelError):
    """Say what is wrong with a request to an arena.

    Parameters
    ----------
    problem
        One of `PROBLEMS`.
    said
        The sentence.
    """

    def __init__(self, problem: str, said: str) -> None:
        super().__init__(said)
        self.problem = problem
        self.status, self.title = PROBLEMS[problem]
