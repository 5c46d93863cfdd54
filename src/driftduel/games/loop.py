"""The compiled loop, one for every pair of kernels and shape of a round.

Importing this imports the compiler.
"""

from functools import cache
from typing import Any

import numpy as np

from driftduel._compile import kernel
from driftduel.policies.base import GROW, RESTARTED, Kernels
from driftduel.policies.ledger import UNANSWERED
from driftduel.worlds import NO_LINK
from driftduel.worlds._kernels import link_value

__all__ = ["ASTRAY", "REGRETS", "compiled_loop"]

ASTRAY = 4  # beside the flags of a `tell` kernel

REGRETS = ("dynamic", "weak", "binary-weak", "binary-strong")
"""The kinds of regret that a loop adds up, in this order."""


@cache
def compiled_loop(kernels: Kernels, ties: bool = False, absences: bool = False) -> Any:
    """Return the loop that plays a policy made of these kernels.

    It plays the rounds ``first, ..., end - 1`` of a chunk and returns the next round, the next
    mark, how many restarts it saw and its flags. It stops early when the policy needs room
    (`GROW`), when there is no more room for restarts, or when the policy asked for arms that are
    not there (`ASTRAY`, with the arms); the caller sees to that and calls again. Kernels are
    compiled into the loop, which is why there is one loop for each pair of them.

    Parameters
    ----------
    kernels
        The policy's.
    ties
        Whether a duel may tie. The policy then hears of nothing, or of -1 if it wants to. One whose
        ties a coin decides needs no such loop: P counts a tie as half a win, and so does a number
        that is compared with P.
    absences
        Whether arms come and go: at the start of each segment those that come are announced, then
        those that leave. All three settings are constants to the compiler, so that a world without
        ties and absences is played by a loop that knows of neither.
    """
    ask, tell, unanswered = kernels.ask, kernels.tell, kernels.unanswered
    change, present = kernels.change, kernels.present

    def loop(  # type: ignore[no-untyped-def]
        chunk, tables, luck, losses, state, rng, notes, first, end,
        sums, marks, mark, curves, counts, plays, restarts,
    ):  # fmt: skip
        begin = chunk.starts[0]
        arms = losses.shape[1]
        by_utility = chunk.link != NO_LINK
        segment = np.searchsorted(chunk.starts, first, side="right") - 2
        next_start = first
        next_mark = marks[mark] if mark < len(marks) else 0
        dynamic, weak = sums[0], sums[1]
        binary_weak, binary_strong = int(sums[2]), int(sums[3])
        seen = 0
        flags = 0
        t = first
        strange = (0, 0)
        while t < end:
            if t == next_start:
                segment += 1
                row = chunk.rows[segment]
                loss = losses[row]
                if by_utility:
                    utility = chunk.utilities[row]
                else:
                    table = tables[row]
                if ties:
                    half = 0.5 * chunk.ties[row]
                if absences:
                    here = chunk.present[row]
                    for arm in range(arms):
                        if here[arm] and not present(state, arm):
                            change(state, rng, t, arm, 1)
                    for arm in range(arms):
                        if not here[arm] and present(state, arm):
                            change(state, rng, t, arm, 0)
                last = segment + 1 == len(chunk.starts)
                next_start = chunk.end if last else chunk.starts[segment + 1]
            a, b = ask(state, rng, t, notes)
            if not (0 <= a < arms and 0 <= b < arms):  # a kernel of somebody's own may be wrong
                flags, strange = ASTRAY, (int(a), int(b))
                break
            p = (
                link_value(chunk.link, utility[a] - utility[b])
                if by_utility
                else table[a * arms + b]
            )
            won = int(luck[t - begin] < p)
            if ties:
                if a != b and p - half <= luck[t - begin] < p + half:
                    won = UNANSWERED
                told = unanswered or won != UNANSWERED
                flags = tell(state, t, a, b, won, notes) if told else 0
            else:
                flags = tell(state, t, a, b, won, notes)
            x, y = loss[a], loss[b]
            if absences and np.isnan(x + y):  # a loss is there already: cheaper than looking it up
                flags, strange = ASTRAY, (int(a), int(b))
                break
            # Arithmetic, not branches: who is in a duel cannot be predicted, by design.
            dynamic += 0.5 * (x + y)
            weak += min(x, y)
            binary_weak += int((x > 0.0) & (y > 0.0))
            binary_strong += int((x > 0.0) | (y > 0.0))
            counts[0, a] += 1  # two rows, so that neither waits for the other
            counts[1, b] += 1
            if t == next_mark:
                curves[mark, 0] = dynamic
                curves[mark, 1] = weak
                curves[mark, 2] = binary_weak
                curves[mark, 3] = binary_strong
                for arm in range(arms):
                    plays[mark, arm] = counts[0, arm] + counts[1, arm]
                mark += 1
                next_mark = marks[mark] if mark < len(marks) else 0
            t += 1
            if flags != 0:
                if flags & RESTARTED:
                    restarts[seen] = t - 1
                    seen += 1
                if flags & GROW or seen == len(restarts):
                    break
        sums[0], sums[1], sums[2], sums[3] = dynamic, weak, binary_weak, binary_strong
        return t, mark, seen, flags, strange

    return kernel(loop)
