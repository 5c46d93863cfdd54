"""Limitations of a log, stated beside the results."""

from typing import Any

from driftduel.logs import facts
from driftduel.logs.posterior import Fit
from driftduel.logs.reading import Log
from driftduel.logs.segments import segment
from driftduel.wording import counted, decimals, listed, share

__all__ = ["cannot_tell", "if_votes_depended_otherwise"]

_MEASURES = {
    "condorcet_switches": "how often the winner switched in all, however briefly (S^CW)",
    "preference_switches": "how often any preference changed (S^P)",
    "total_variation": "how much all preferences changed in all (V)",
    "condorcet_variation": "how much those against the winner changed in all",
}
_OTHERWISE = 1.5


def cannot_tell(log: Log, fit: Fit, measured: dict[str, Any]) -> list[str]:
    """Say what a log leaves open, and what was not looked at.

    Parameters
    ----------
    log, fit
        The log, and what was fitted to it.
    measured
        What `facts.measured` returned.
    """
    lines = [*log.notes, *facts.doubts(fit)]
    untold = [text for name, text in _MEASURES.items() if not measured[name]["told"]]
    if untold:
        lines.append(
            f"This log does not tell {listed(untold)}: the answer depends on how finely one looks."
        )
    if fit.kind == "walk":
        lines.append(
            "Preferences drift rather than jump, as far as votes tell; a change is then where "
            "the drift is fastest, and its date a rough one."
        )
    lines.append(if_votes_depended_otherwise(fit))
    lines.append(
        "A change that came and went within a hundred votes or so cannot be seen in any log, nor "
        "one among the last hundred."
    )
    both = fit.counts.wins.sum(axis=0)
    pairs = fit.counts.options * (fit.counts.options - 1) // 2
    unseen = pairs - int(((both + both.T) > 0).sum()) // 2
    if unseen:
        lines.append(
            f"{counted(unseen, 'pair')} of {pairs:,} never met; what is said about them follows "
            f"from the votes of other pairs."
        )
    if log.left_out:
        lines.append(f"Nothing is said about {listed(list(log.left_out))}: they have few votes.")
    if log.skipped:
        why = "; ".join(f"{rows:,} {reason}" for reason, rows in log.skipped.items())
        lines.append(
            f"{sum(log.skipped.values()):,} of {log.rows:,} rows make no sense and were not "
            f"counted: {why}."
        )
    lines.append(
        "Votes tell who was preferred by those who voted, on the pairs that they were shown; they "
        "do not tell why."
    )
    return lines


def if_votes_depended_otherwise(fit: Fit) -> str:
    """Say what would be seen if votes depended on each other less, or more, than they seem to."""
    count = sum(change.cause == "preferences" for change in fit.changes)
    verb = "is" if count == 1 else "are"
    lines = [
        f"How much votes depend on each other is an estimate, and one number for all: phi "
        f"{decimals(fit.phi)}, with which {counted(count, 'change')} {verb} more probable than not."
    ]
    for phi in sorted({max(1.0, fit.phi / _OTHERWISE), fit.phi * _OTHERWISE} - {fit.phi}):
        cut = segment(fit.counts, fit.cuttings.model, phi=phi, vote_model=fit.vote_model)
        now = Fit(fit.counts, fit.kind, cut, phi, seed=fit.seed, vote_model=fit.vote_model).now
        chance = now.nobody if now.winner is None else now.chances[now.winner]
        lines.append(
            f"With phi {decimals(phi)} it would be {len(cut.changes()):,}, and "
            f"{now.winner or 'no winner'} would come first now ({share(chance)})."
        )
    return " ".join(lines)
