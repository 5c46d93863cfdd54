"""Limitations of a log, stated beside the results."""

from typing import Any

from driftduel._internal.wording import counted, decimals, listed, share
from driftduel.logs import descriptions
from driftduel.logs.posterior import Fit
from driftduel.logs.reading import Log
from driftduel.logs.segments import segment

__all__ = ["dispersion_sensitivity", "limitations"]

_MEASURES = {
    "condorcet_switches": "how often the winner switched in all, however briefly (S^CW)",
    "preference_switches": "how often any preference changed (S^P)",
    "total_variation": "how much all preferences changed in all (V)",
    "condorcet_variation": "how much those against the winner changed in all",
}
_OTHERWISE = 1.5


def limitations(log: Log, fit: Fit, measured: dict[str, Any]) -> list[str]:
    """Return sentences about the limitations of a log and of its analysis.

    Parameters
    ----------
    log, fit
        The log, and the model fitted to it.
    measured
        The return value of `descriptions.describe_measures`.
    """
    lines = [*log.notes, *descriptions.caveats(fit)]
    if fit.counts.slates:
        lines.append(
            "The position of an option in a slate is not modelled, and policies are not compared."
        )
    open_measures = [text for name, text in _MEASURES.items() if not measured[name]["told"]]
    if open_measures:
        lines.append(
            f"This log does not determine {listed(open_measures)}: the value depends on the "
            f"resolution in time."
        )
    if fit.kind == "walk":
        lines.append(
            "The votes indicate a gradual drift rather than jumps; a change is then the time of "
            "the fastest drift, and its date is approximate."
        )
    lines.append(dispersion_sensitivity(fit))
    lines.append(
        "A change that is reversed within about a hundred votes cannot be detected, nor one among "
        "the last hundred votes."
    )
    both = fit.counts.wins.sum(axis=0)
    pairs = fit.counts.options * (fit.counts.options - 1) // 2
    unseen = pairs - int(((both + both.T) > 0).sum()) // 2
    if unseen:
        lines.append(
            f"{counted(unseen, 'pair')} of {pairs:,} have no votes; statements about them are "
            f"derived from the votes of other pairs."
        )
    if log.left_out:
        lines.append(f"Left out because of few votes: {listed(list(log.left_out))}.")
    if log.skipped:
        why = "; ".join(f"{rows:,} {reason}" for reason, rows in log.skipped.items())
        lines.append(
            f"{sum(log.skipped.values()):,} of {log.rows:,} rows are invalid and were not "
            f"counted: {why}."
        )
    lines.append(
        "Votes show the preferences of these voters on the pairs they were shown, not the reasons."
    )
    return lines


def dispersion_sensitivity(fit: Fit) -> str:
    """Return sentences about the results with other values of the dispersion parameter phi."""
    count = sum(change.cause == "preferences" for change in fit.changes)
    verb = "is" if count == 1 else "are"
    lines = [
        f"The dependence of votes is one estimated parameter, phi = {decimals(fit.phi)}; with it, "
        f"{counted(count, 'change')} {verb} more probable than not."
    ]
    for phi in sorted({max(1.0, fit.phi / _OTHERWISE), fit.phi * _OTHERWISE} - {fit.phi}):
        cut = segment(fit.counts, fit.cuttings.model, phi=phi, vote_model=fit.vote_model)
        now = Fit(fit.counts, fit.kind, cut, phi, seed=fit.seed, vote_model=fit.vote_model).now
        chance = now.no_winner if now.winner is None else now.chances[now.winner]
        lines.append(
            f"With phi {decimals(phi)} it would be {len(cut.changes()):,}, and "
            f"{now.winner or 'no winner'} would come first now ({share(chance)})."
        )
    return " ".join(lines)
