"""Compiled functions for measures, segment by segment. Importing this imports the compiler."""

from driftduel._internal.compiler import kernel

__all__ = ["compare_segments", "find_smith_sets"]


@kernel
def compare_segments(  # type: ignore[no-untyped-def]
    matrices, rows, winners, present, previous, were_here, sums, changed
):
    """Add up the changes of a chunk, among the arms that are present before and after.

    Parameters
    ----------
    matrices, rows
        The rows of the chunk, and the row of each segment.
    winners
        Condorcet winner of each row, -1 for none.
    present
        The present arms of each row; (0, 0) if all are present.
    previous, were_here
        Matrix and present arms before the chunk; overwritten with the last values of the chunk.
    sums
        V and the CW variation so far; updated.
    changed
        Output argument: whether the matrix or the present arms of each segment differ from the one
        before.
    """
    arms = previous.shape[0]
    absences = present.size > 0
    for s in range(len(rows)):
        matrix = matrices[rows[s]]
        before = matrices[rows[s - 1]] if s > 0 else previous
        winner = winners[rows[s]]
        most = 0.0
        most_of_winner = 0.0
        changed[s] = False
        if absences:
            here = present[rows[s]]
            there = present[rows[s - 1]] if s > 0 else were_here
            for a in range(arms):
                changed[s] |= here[a] != there[a]
        for a in range(arms):
            if absences and not (here[a] and there[a]):
                continue
            for b in range(arms):
                if absences and not (here[b] and there[b]):
                    continue
                step = abs(matrix[a, b] - before[a, b])
                most = max(most, step)
                if a == winner:
                    most_of_winner = max(most_of_winner, step)
        changed[s] |= most > 0
        sums[0] += most
        sums[1] += most_of_winner
    last = matrices[rows[-1]]
    for a in range(arms):
        if absences:
            were_here[a] = present[rows[-1], a]
        for b in range(arms):
            previous[a, b] = last[a, b]


@kernel
def find_smith_sets(matrices, winners, present, inside):  # type: ignore[no-untyped-def]
    """Find the Smith set of each row: the smallest set of arms that beat every arm outside.

    See `driftduel.preferences.smith_set`; this is the compiled function for many rows.

    Parameters
    ----------
    matrices, winners, present
        Same arguments as of `compare_segments`.
    inside
        Output argument, (R, K): the members of the set, among the present arms.
    """
    arms = matrices.shape[1]
    for row in range(len(matrices)):
        P = matrices[row]
        for a in range(arms):
            inside[row, a] = a == winners[row]
        if winners[row] >= 0:
            continue
        best, most = -1, -1
        for a in range(arms):
            if present.size == 0 or present[row, a]:
                beaten = 0
                for b in range(arms):
                    if b != a and (present.size == 0 or present[row, b]) and P[a, b] > 0.5:
                        beaten += 1
                if beaten > most:
                    best, most = a, beaten
        inside[row, best] = True
        grown = True
        while grown:
            grown = False
            for b in range(arms):
                if inside[row, b] or not (present.size == 0 or present[row, b]):
                    continue
                for a in range(arms):
                    if inside[row, a] and not P[a, b] > 0.5:
                        inside[row, b] = True
                        grown = True
                        break
