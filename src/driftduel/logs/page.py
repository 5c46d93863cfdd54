"""A self-contained HTML page about a log: the best option now, changes, limitations.

This module prepares plain data; the templates beside it render the HTML.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import driftduel
from driftduel._internal.files import atomic_write, durable_folder
from driftduel._internal.pages import environment, html_escaped
from driftduel._internal.wording import counted, decimals, share, whole
from driftduel.errors import DriftduelError
from driftduel.logs import descriptions
from driftduel.logs.calibration import CalibrationBin, calibration
from driftduel.logs.charts import COLOURS, bars, ranking, ribbons, span_of, time_axis, winner_areas
from driftduel.logs.evaluation import evaluate
from driftduel.logs.limitations import limitations
from driftduel.logs.posterior import Fit
from driftduel.logs.posterior_worlds import compare_on_posterior
from driftduel.logs.reading import Log
from driftduel.logs.strength import edges_of, strengths
from driftduel.logs.times import time_text
from driftduel.logs.vote_model import votes_by_place

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["PAGE", "write_page"]

PAGE = "index.html"
_DRAWS = 40  # default number of posterior draws for the measures
_BLOCKS = 8  # predicted blocks; each costs a fit
_BLOCKS_OF_MANY = 3
_MANY_OPTIONS = 50
_MOST_IN_HEAT = 12
_MOST_ERAS = 24
_MOST_RECENT = 6
_ROOM = 22  # characters of a name beside a heat map
_MOST_REIGNS = 40
_FEW = 10  # a cell with fewer votes of its pair is hatched
_MEASURES = {
    "significant_switches": "significant switches of the winner",
    "condorcet_switches": "switches of the Condorcet winner, S^CW",
    "preference_switches": "switches of any preference, S^P",
    "total_variation": "total variation, V",
    "condorcet_variation": "variation against the winner",
}
Progress = Callable[[str], None]


def write_page(
    log: Log,
    fit: Fit,
    out: str | Path,
    *,
    title: str = "a log",
    policies: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Write a page about a log, and return its path.

    Parameters
    ----------
    log, fit
        The log, and the model fitted to it.
    out
        A folder for ``index.html``; it is created if it does not exist.
    title
        The name of the log on the page.
    policies
        Whether policies play worlds drawn from the posterior, which takes a while.
    progress
        Function called with a short description before each longer step.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise DriftduelError(f"{str(folder)!r} is a file, not a folder for a page.")
    templates = environment("driftduel.logs", "logs")
    templates.filters |= {"middle": _without_middle, "dated": _with_whole_dates}
    values = _values(log, fit, title, policies, progress or (lambda _: None))
    text = templates.get_template("log.html").render(values)
    durable_folder(folder)
    path = folder / PAGE
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def _without_middle(name: str) -> str:
    """Return a name without its middle part if it is long; names of models differ at the end.

    Examples
    --------
    >>> _without_middle("tea"), _without_middle("a-very-large-language-model-17b")
    ('tea', 'a-very-lar…-model-17b')
    """
    return name if len(name) <= _ROOM else f"{name[:10]}…{name[-10:]}"


def _with_whole_dates(text: str) -> "Markup":
    """Escape a sentence, and prevent line breaks within its dates."""
    from markupsafe import Markup

    whole = r'<span class="whole">\g<0></span>'
    return Markup(re.sub(r"\b\d{4}-\d\d-\d\d\b", whole, html_escaped(text)))


def _values(log: Log, fit: Fit, title: str, policies: bool, say: Progress) -> dict[str, Any]:
    """Return the values of the template."""
    say("best option and changes")
    now, changed = descriptions.describe_log(log, fit), descriptions.list_changes(log, fit)
    reported = [change for change in fit.changes if change.reported]
    axis = time_axis(fit)
    marks = bars(reported, axis)
    say("strength of each option")
    strength = strengths(fit)
    panels = ribbons(fit, strength, axis)
    floor, top = span_of(strength)
    say("predicting votes that were held out")
    predicted = calibration(fit)
    say("comparing forecasts with ratings")
    evaluated = _evaluation_table(log, fit, say)
    say("measuring")
    measured = descriptions.describe_measures(log, fit, draws=_DRAWS)
    say("limitations of the log")
    open_points = limitations(log, fit, measured)
    weak = descriptions.caveats(fit)  # shown only once, in the list of limitations
    standings = None
    if policies and not log.counts.slates:  # regret of a log's own duels: not defined for slates
        say("playing policies on worlds drawn from the posterior")
        found = compare_on_posterior(fit)
        standings = {"sentence": found.sentence, **found.as_dict()}
    return {
        "title": f"driftduel: {title}",
        "log": title,
        "version": driftduel.__version__,
        "colours": COLOURS,
        "winner_sentence": descriptions.describe_winner(fit),
        "changes_sentence": descriptions.describe_changes(changed),
        "estimate_sentence": descriptions.describe_estimate(fit),
        "remarks": [line for line in now["remarks"] if line not in weak],
        "remarks_on_changes": [line for line in changed["remarks"] if line not in weak],
        "chances": _chances(now),
        "votes": log.counts.votes,
        "span": f"{now['from_text']} to {now['to_text']}",
        "kind": fit.kind,
        "changes": changed["changes"],
        "rows": _overview_rows(log, now),
        "ticks": axis.ticks(),
        "few_ticks": axis.ticks(3),
        "areas": winner_areas(fit, axis),
        "bars": marks,
        "lanes": 1 + max((bar["lane"] for bar in marks), default=0),
        "reigns": _reigns(fit),
        "panels": panels,
        "heights": [share(floor), share((floor + top) / 2), share(top)],
        "not_drawn": [fit.names[i] for i in ranking(fit)[len(panels) :]],
        "eras": _eras(fit),
        "few": _FEW,
        "heat_left_out": max(0, fit.counts.options - _MOST_IN_HEAT),
        "predicted": predicted,
        "square": _points(predicted),
        "calibration_sentence": _describe_calibration(predicted),
        "evaluated": evaluated,
        "probability_note": descriptions.PROBABILITY,
        "choice": fit.choice,
        "measures": [(text, measured[name]) for name, text in _MEASURES.items()],
        "rounds": measured["rounds"],
        "standings": standings,
        "limitations": open_points,
        "problems": log.problems,
    }


def _chances(now: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the probabilities of the options to be best now, and of no winner."""
    ordered = sorted(now["now"].items(), key=lambda item: -item[1])
    shown = [item for item in ordered if item[1] >= 0.005][:_MOST_IN_HEAT]
    return [*shown, ("no winner", now["nobody"])]


def _overview_rows(log: Log, now: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of the overview table."""
    counts = log.counts
    pairs = counts.options * (counts.options - 1) // 2
    rows = [
        ("votes", f"{counts.votes:,}"),
        ("time", f"{now['from_text']} to {now['to_text']}"),
        ("options", f"{counts.options:,}; {now['pairs_seen']:,} of {pairs:,} pairs met"),
        ("ties", share(counts.ties / counts.votes, 1)),
        ("dependence phi", f"{decimals(now['phi'])} (1: votes are independent of each other)"),
    ]
    if now["first_advantage"] is not None:
        low, high = (share(end, 1) for end in now["first_advantage_between"])
        rows.append(
            (
                "shown first",
                f"wins {share(now['first_advantage'], 1)} between equals ({low} to {high})",
            )
        )
    if now["heaviest_group"] is not None:
        rows.append(("heaviest group", f"{share(now['heaviest_group'], 1)} of the votes"))
    if now["weighted"]:
        rows.append(("effective votes", f"{whole(counts.effective_votes)} of equal weight"))
    return rows


def _reigns(fit: Fit) -> dict[str, Any]:
    """Return the periods in which the most probable winner is the same."""
    leading = fit.winners.argmax(axis=1)
    edges, clock = edges_of(fit), fit.counts.clock
    starts = [*_reigns_that_count(fit, leading, edges), len(leading)]
    rows = [
        {
            "who": (*fit.names, "no winner")[leading[i]],
            "from": time_text(edges[i], clock),
            "to": time_text(edges[j], clock),
            "least": float(fit.winners[i:j, leading[i]].min()),
            "most": float(fit.winners[i:j, leading[i]].max()),
        }
        for i, j in pairwise(starts)
    ]
    return {"rows": rows[-_MOST_REIGNS:], "earlier": max(0, len(rows) - _MOST_REIGNS)}


def _reigns_that_count(fit: Fit, leading: Any, edges: Any) -> list[int]:
    """Return the first bins of the reported periods.

    While the best option is uncertain, the most probable one changes with every few votes. A period
    is reported if its winner becomes more probable than not, or if a reported change of the winner
    may have occurred at its start. The last period, the subject of the headline, and the one before
    it are always reported.
    """
    turns = [0, *(np.flatnonzero(np.diff(leading)) + 1).tolist(), len(leading)]
    switches = [c for c in fit.changes if c.reported and c.new_winner]
    starts = [0]
    for i, j in pairwise(turns):
        sure = fit.winners[i:j, leading[i]].max() >= 0.5
        in_interval = any(change.low <= edges[i] <= change.high for change in switches)
        if (sure or in_interval or j >= turns[-2]) and leading[i] != leading[starts[-1]]:
            starts.append(i)
    return starts


def _eras(fit: Fit) -> dict[str, Any]:
    """Return the preferences between the reported changes, as cells of tables."""
    counts = fit.counts
    names = ranking(fit)[:_MOST_IN_HEAT]
    bins = [0, *(change.bin for change in fit.changes if change.reported), len(counts.wins)]
    shown = []
    for i, j in list(pairwise(bins))[-_MOST_ERAS:]:
        wins = counts.wins[i:j].sum(axis=0)
        votes = votes_by_place(wins, counts.ahead[i:j].sum(axis=0))
        expected = fit.blend.expected_preferences(votes / fit.phi)
        shown.append(
            {
                "from": time_text(counts.first[i], counts.clock),
                "to": time_text(counts.last[j - 1], counts.clock),
                "votes": round(float(wins.sum())),
                "rows": [
                    (counts.names[a], [_cell(fit, a, b, wins, expected) for b in names])
                    for a in names
                ],
            }
        )
    return {
        "names": [counts.names[i] for i in names],
        "recent": shown[-_MOST_RECENT:],
        "before": shown[:-_MOST_RECENT],
        "earlier": max(0, len(bins) - 1 - _MOST_ERAS),
    }


def _cell(fit: Fit, a: int, b: int, wins: Any, expected: Any) -> dict[str, Any] | None:
    """Return the values of a heat-map cell; None on the diagonal and for absent options."""
    seen = wins.sum(axis=0) + wins.sum(axis=1)
    if a == b or not (seen[a] and seen[b]):  # an option without votes in this period was absent
        return None
    chance, votes = float(expected[a, b]), float(wins[a, b] + wins[b, a])
    return {
        "text": whole(100 * chance),
        "ahead": chance >= 0.5,
        "strength": round(min(1.0, abs(2 * chance - 1)) * 85),
        "few": votes < _FEW,
        "title": f"{fit.names[a]} beats {fit.names[b]} with {share(chance)}; "
        f"it won {wins[a, b]:,.10g} of {votes:,.10g} votes",
    }


def _points(predicted: list[CalibrationBin]) -> dict[str, Any]:
    """Return the coordinates of the calibration points, in percent of a square that ends at 1."""
    most = max((one.votes for one in predicted), default=1.0)
    low = min((one.low for one in predicted), default=0.5)
    low = 0.5 if low >= 0.5 else np.floor(low * 10) / 10

    def up(value: float) -> float:
        return round(100 * (value - low) / (1 - low), 2)

    points = [
        {"x": up(one.predicted), "y": up(one.won), "low": up(one.low), "high": up(one.high),
         "size": round(1.2 + 2.2 * float(np.sqrt(one.votes / most)), 2)}
        for one in predicted
    ]  # fmt: skip
    ticks = [(up(v), share(v)) for v in np.arange(low, 1.001, 0.1)]
    return {"points": points, "ticks": ticks}


def _evaluation_table(log: Log, fit: Fit, say: Progress) -> dict[str, Any]:
    """Return the table of rolling forecasts, or the reason for its absence."""
    kind = fit.kind if fit.choice is None else "auto"
    blocks = _BLOCKS if fit.counts.options <= _MANY_OPTIONS else _BLOCKS_OF_MANY
    try:
        found = evaluate(log, blocks, kind=kind, seed=fit.seed, progress=say)
    except DriftduelError as error:
        return {"sentence": f"Forecasts are not compared: {error}", "models": [], "remarks": []}
    return {"sentence": found.sentence, "remarks": found.remarks, **found.as_dict()}


def _describe_calibration(predicted: list[CalibrationBin]) -> str:
    """Return a sentence about the calibration on held-out votes."""
    votes = sum(one.votes for one in predicted)
    if not votes:
        return "There are too few votes to hold some of them out."
    mean = sum(one.predicted * one.votes for one in predicted) / votes
    won = sum(one.won * one.votes for one in predicted) / votes
    agree = sum(one.agrees for one in predicted)
    return (
        f"Of {whole(votes)} votes that were held out, the favourite was expected to win "
        f"{share(mean, 1)} and won {share(won, 1)}; in {agree} of {counted(len(predicted), 'bin')} "
        f"the prediction lies within the 95% interval of the observed value."
    )
