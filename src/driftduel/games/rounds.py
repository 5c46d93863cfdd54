"""One round by ask and tell, bit-identical to the compiled loop."""

import numpy as np

from driftduel.policies import UNANSWERED, Duel, Policy, no_such_arms
from driftduel.worlds import TIE, Chunk, decide

__all__ = ["announce_arms", "check_changes", "decide_duel", "skips_ties"]


def skips_ties(policy: Policy, chunk: Chunk) -> bool:
    """Return whether a duel of a chunk may tie without an outcome for the policy."""
    return len(chunk.ties) > 0 and policy.ledger.ties == "skip"


def announce_arms(policy: Policy, chunk: Chunk, row: int) -> None:
    """Announce joins, then departures, to a policy."""
    if not chunk.present.size:
        return
    here, known = np.flatnonzero(chunk.present[row]).tolist(), policy.present
    for arm in here:
        if arm not in known:
            policy.admit(arm)
    for arm in known:
        if arm not in here:
            policy.retire(arm)


def check_changes(policy: Policy, chunk: Chunk) -> None:
    """Raise if the arms of the world change and the policy does not support it."""
    if chunk.present.size and not policy.can_change:
        Policy.change(policy, 0, here=False)  # raises the error


def decide_duel(policy: Policy, duel: Duel, chunk: Chunk, row: int, draw: float) -> tuple[int, int]:
    """Decide a duel by an outcome draw between 0 and 1.

    Returns 1 or 0, `TIE` or `UNKNOWN`, and the value for the policy, which may be less specific.
    """
    a, b = duel.first, duel.second
    if chunk.present.size and not (chunk.present[row, a] and chunk.present[row, b]):
        raise no_such_arms(policy, a, b, duel.round, chunk.present[row])
    values, ties = chunk.row_values(row), len(chunk.ties) > 0
    half_tie = 0.5 * chunk.ties[row] if ties else 0.0
    duel_of = values, chunk.link, policy.arms, a, b, draw, half_tie
    won = told = int(decide(*duel_of, ties, chunk.unknown))
    if won == TIE and policy.ledger.ties == "coin":
        told = int(decide(*duel_of, False, chunk.unknown))
    return won, max(told, UNANSWERED)
