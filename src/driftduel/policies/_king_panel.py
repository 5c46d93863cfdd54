"""King in panels: the king is always shown, and whose turn it is beside it is all there is to say.

In serve mode a duel of the king with a challenger costs regret, so matches are rationed. People who
came to compare see two different arms anyway: here the king meets everyone, all the time.

- A challenger has a **match** from the first duel that it wins. The match ends when its evidence,
  the mean of the six bets, falls below the 1 that they began with; so of two equals neither keeps
  the other busy for long. The fall of a king, fresh kings and newcomers are as in serve mode.
- **Whom by.** The challenger with the largest (lead + 1)^2 / (1 + duels out); of equals the next in
  turn. With every answer at hand that is one match after another. The more duels are out, the more
  the others share in them: not that leaders would be wrong more often without (they were not), but
  a pair that nobody ever answers must not stop the panel.
- **Late answers** are bet on when they come, in whatever match is open then, if they are about this
  king and were asked for since its last match as a challenger began, in which it rose. So those of
  that match which were still out count, with the roles exchanged, in the old king's matches against
  the new one.

**Guaranteed**: in the first n matches, at most 2.6 log(1 + n / 100) false alarms are expected. It
is the argument of serve mode. A match begins with a duel that the challenger won, so with the
evidence 1.2625, the mean of 1.8, 1.4, ..., 1.025; while the challenger is no better than the king
what follows is a nonnegative supermartingale, and reaches 50 + B / 2 >= 50 + b / 2 in match number
b with probability at most 2.525 / (100 + b). An answer is bet on once, when it comes; so it may
have been asked for before the match began, or for the match that crowned the king, if its delay has
nothing to do with who won. A tie leaves all bets as they are.
"""

from typing import Any

from driftduel._compile import hot, kernel
from driftduel.policies._king_matches import (
    PATIENCE,
    begin_match,
    bet,
    change,
    close_match,
    crown,
    newcomer,
    present,
    remember,
    suspect,
    verdict,
)
from driftduel.policies.base import RESTARTED, Kernels

__all__ = ["panel_kernels"]


@hot
def _ask(state: Any, rng: Any, t: int, notes: Any) -> Any:
    numbers, arms = state.numbers[0], state.arms
    king = numbers.king
    numbers.now = t
    j = newcomer(state, t) if t >= numbers.trial else -1
    if j < 0 or j == king:
        j, most, i = king, 0.0, numbers.last
        for _ in range(len(arms)):
            i = i + 1 if i + 1 < len(arms) else 0
            if i != king and state.present[i]:
                lead = max(arms[i].lead, 0) + 1.0
                promise = lead * lead / (1.0 + arms[i].out)
                if promise > most:
                    j, most = i, promise
        if j == king:
            return king, king  # nobody else is there
        numbers.last = j
    arms[j].out += 1
    arms[j].asked = t
    return king, j


@hot
def _tell(state: Any, t: int, first: int, second: int, won: int, notes: Any) -> int:
    king = state.numbers[0].king
    if first == king and second != king:
        return _learn(state, t, second, won)
    if second == king and first != king:
        return _learn(state, t, first, 1 - won if won >= 0 else won)
    return 0  # it is about somebody who reigned before


@kernel
def _learn(state: Any, t: int, j: int, won: int) -> int:
    """Learn how a duel of the king and `j` ended for the king."""
    numbers, rival = state.numbers[0], state.arms[j]
    king = numbers.king
    if not state.present[j] or t < state.arms[king].since or t < rival.came:
        return 0
    rival.out = max(0, rival.out - 1)
    if won < 0:
        rival.tied += 1
        if rival.on and rival.tied >= PATIENCE:
            close_match(state, j)
        return 0
    if not rival.on:
        if won == 1:
            rival.tied = 0
            remember(state, j, won)
            return 0
        begin_match(state, numbers.now, j)
    wealth = bet(state, j, won)
    if wealth < 1.0:
        close_match(state, j)
        return 0
    said = verdict(state, j, wealth)
    if said <= 0:
        return 0
    out = rival.out
    crown(state, numbers.now, j)
    state.arms[king].out = out
    if said == 1:
        return 0
    numbers.alarms += 1
    return RESTARTED


@kernel
def _change(state: Any, rng: Any, t: int, arm: int, here: int) -> None:
    """Let an arm come or leave; what is out of its duels will be dropped."""
    change(state, rng, t, arm, here)
    state.arms[arm].out = 0


def panel_kernels(hear: Any) -> Kernels:
    """Return the kernels of panel mode, which hear past votes as those of serve mode do."""
    return Kernels(
        _ask,
        _tell,
        suspect=suspect,
        unanswered=True,
        change=_change,
        present=present,
        hear=hear,
    )
