"""Compare every segment of a world with the one before it. Importing this imports the compiler."""

from driftduel._compile import kernel

__all__ = ["compare_segments"]


@kernel
def compare_segments(matrices, rows, winners, previous, sums, changed):  # type: ignore[no-untyped-def]
    """Add up a chunk's changes.

    Parameters
    ----------
    matrices, rows
        The chunk's rows, and which of them each segment uses.
    winners
        Condorcet winner of each row, -1 for none.
    previous
        Matrix before the chunk; overwritten with the chunk's last.
    sums
        V and the CW variation so far; updated.
    changed
        Out: whether each segment's matrix differs from the one before.
    """
    arms = previous.shape[0]
    for s in range(len(rows)):
        matrix = matrices[rows[s]]
        before = matrices[rows[s - 1]] if s > 0 else previous
        winner = winners[rows[s]]
        most = 0.0
        most_of_winner = 0.0
        for a in range(arms):
            for b in range(arms):
                step = abs(matrix[a, b] - before[a, b])
                most = max(most, step)
                if a == winner:
                    most_of_winner = max(most_of_winner, step)
        changed[s] = most > 0
        sums[0] += most
        sums[1] += most_of_winner
    last = matrices[rows[-1]]
    for a in range(arms):
        for b in range(arms):
            previous[a, b] = last[a, b]
