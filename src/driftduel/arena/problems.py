"""Names, HTTP status codes and titles of errors, shared by Python, CLI and HTTP."""

from driftduel.errors import DriftduelError

__all__ = ["PROBLEMS", "ArenaError"]

PROBLEMS = {
    "no-token": (401, "a token is required"),
    "wrong-scope": (403, "the token does not allow this"),
    "cross-site": (403, "the request came from another site"),
    "no-such-arena": (404, "the arena does not exist"),
    "no-such-duel": (404, "the arena has no such duel"),
    "no-such-option": (404, "the option does not exist"),
    "no-such-item": (404, "the item does not exist"),
    "no-such-file": (404, "the file does not exist"),
    "no-such-voter": (404, "the voter does not exist"),
    "no-such-token": (404, "the token does not exist"),
    "no-such-hook": (404, "the webhook does not exist"),
    "not-found": (404, "the path does not exist"),
    "method-not-allowed": (405, "the path does not support this method"),
    "too-slow": (408, "the request took too long"),
    "already-answered": (409, "the duel has another answer"),
    "too-late": (409, "it is too late for this request"),
    "name-taken": (409, "the name is taken"),
    "closed": (409, "the arena is closed"),
    "nothing-left": (409, "there is nothing left to compare"),
    "not-comparable": (409, "the values of the tag cannot be compared"),
    "wrong-request": (409, "the request does not fit the features of the arena"),
    "duel-lost": (410, "the duel is not in the log"),
    "too-large": (413, "the body is too long"),
    "wrong-media-type": (415, "the body is not JSON"),
    "bad-address": (422, "the address is not allowed"),
    "bad-vote": (422, "the pick is not valid"),
    "bad-request": (422, "the request is not valid"),
    "too-many": (429, "a limit is reached"),
    "broken": (500, "an internal error of the server"),
    "damaged-log": (500, "the log of the arena is damaged"),
    "no-answer": (502, "no valid response from the server"),
    "store-trouble": (503, "the store cannot be read or written"),
    "owned-elsewhere": (503, "another process owns the arena"),
}
"""Name of an error to its HTTP status and title."""


class ArenaError(DriftduelError):
    """An invalid or impossible request to an arena.

    Parameters
    ----------
    problem
        One of the keys of `PROBLEMS`; also an attribute.
    message
        A sentence with the fault, the value and a remedy.
    """

    def __init__(self, problem: str, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.status, self.title = PROBLEMS[problem]
