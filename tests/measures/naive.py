"""The slow, obvious twins: every window of every phase, round by round, in exact integers."""

from decimal import Decimal, localcontext

UNIT = 1 << 30


def square(arms, scale):
    """Return c^2, where a window must reach c sqrt(s2 - s1)."""
    return arms if scale == "main" else arms**2


def significant_switches(losses, scale="main"):
    """Follow the definition; `losses` has one row for every round."""
    rounds, arms = len(losses), len(losses[0])
    # before[a][s] is what arm a has lost before round s; rounds count from 1.
    before = [[0, 0] for _ in range(arms)]
    for row in losses:
        for a, loss in enumerate(row):
            before[a].append(before[a][-1] + round(float(loss) * UNIT))
    switches, nu = [], 1
    while (nu := next_switch(before, nu, rounds, square(arms, scale))) is not None:
        switches.append(nu)
    return switches


def next_switch(before, nu, rounds, c2):
    safe = set(range(len(before)))
    for candidate in range(nu, rounds):
        s2 = candidate - 1  # windows with an earlier end have been tried for earlier candidates
        for a in list(safe):
            for s1 in range(nu, s2):
                if reaches(before[a][s2 + 1] - before[a][s1], c2 * (s2 - s1)):
                    safe.remove(a)
                    break
        if not safe:
            return candidate
    return None


def reaches(total, c2n):
    return total**2 >= c2n * UNIT**2


def as_good(e, i, j, gained, c2):
    """Tell whether the start i is at least as good as the newer start j for the end e."""
    with localcontext() as context:
        context.prec = 60
        older, newer = Decimal(c2 * (e - i)).sqrt(), Decimal(c2 * (e - j)).sqrt()
        return gained >= UNIT * (older - newer)
