"""What features of requests are worth in a log, as plain data and sentences."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftduel._internal.wording import code, counted, decimals, listed, share, short
from driftduel.evidence import ALPHA
from driftduel.logs.feature_votes import FeatureVotes, feature_votes
from driftduel.logs.features import (
    CHANGES,
    DependenceChange,
    Evidence,
    RoutingGain,
    check_prices,
    dependence_changes,
    feature_evidence,
    routing_gain,
)
from driftduel.logs.times import time_text, time_value

if TYPE_CHECKING:
    from driftduel.logs.reading import Log

__all__ = ["describe_features"]

_MOST_LOG = math.log(1e6)  # a larger e-value is reported as this


def describe_features(log: "Log", prices: dict[str, float] | None = None) -> dict[str, Any]:
    """Return what the features of a log are worth; the keys are those of `FeaturesOutput`.

    Parameters
    ----------
    log
        A log that was read with ``features=``.
    prices
        Prices in log-odds by option; options that are not named cost nothing.
    """
    votes = feature_votes(log)
    priced = check_prices(votes, prices or {})
    evidence = feature_evidence(votes)
    changes = dependence_changes(votes)
    gain = routing_gain(votes, priced)
    clock = log.counts.clock
    named = evidence.which
    return {
        "options": list(votes.names),
        "votes": len(votes),
        "matters": evidence.matters,
        "evidence": _capped(evidence.largest),
        "statement": _statement(votes, evidence),
        "features": [
            {
                "name": feature.name,
                "kind": "category" if feature.categories else "number",
                "values": list(feature.categories),
                "matters": bool(claimed),
                "evidence": _capped(log_e),
                "required": math.exp(evidence.required),
            }
            for feature, claimed, log_e in zip(votes.features, named, evidence.alone, strict=True)
        ],
        "changes": [_change(votes, change, clock) for change in changes],
        "changes_statement": _changes_statement(votes, changes, clock),
        "prices": dict(zip(votes.names, priced.tolist(), strict=True)),
        "gain": {
            "found": gain.found,
            "regret_single": gain.single,
            "regret_router": gain.router,
            "gain": gain.gain,
            "low": gain.low,
            "high": gain.high,
            "slope": gain.slope,
            "votes": gain.votes,
        },
        "gain_statement": _gain_statement(gain, priced),
        "notes": list(log.notes),
        "remarks": _remarks(votes, log),
    }


def _capped(log_e: float) -> float:
    return math.exp(min(log_e, _MOST_LOG))


def _ratio(log_e: float) -> str:
    return "more than a million" if log_e >= _MOST_LOG else short(math.exp(log_e))


def _names(names: list[str]) -> str:
    return listed([code(name) for name in names])


def _statement(votes: FeatureVotes, evidence: Evidence) -> str:
    """Return the sentence about all features."""
    names = _names([feature.name for feature in votes.features])
    ratio = f"evidence {_ratio(evidence.largest)} to 1; {1 / ALPHA:.0f} is required"
    if not evidence.matters:
        return f"No dependence of preferences on {names} is established ({ratio})."
    which = zip(votes.features, evidence.which, strict=True)
    found = [feature.name for feature, claimed in which if claimed]
    each = ""
    if len(votes.features) > 1:
        each = f" Established for single features: {_names(found) or 'none'}."
    what = f"at least one of {names}" if each else names
    return (
        f"Preferences depend on {what} ({ratio}; error at most {share(ALPHA)} however often this "
        f"is read).{each}"
    )


def _change(votes: FeatureVotes, change: DependenceChange, clock: str) -> dict[str, Any]:
    since, until = votes.when[change.since], votes.when[change.vote]
    return {
        "since": time_value(since, clock),
        "since_text": time_text(since, clock),
        "established": time_value(until, clock),
        "established_text": time_text(until, clock),
        "vote": change.vote + 1,
        "evidence": change.evidence,
    }


def _changes_statement(
    votes: FeatureVotes, changes: list[DependenceChange], clock: str
) -> str:  # fmt: skip
    if not changes:
        return "No change of the preferences given the request is established."
    times = listed([time_text(votes.when[change.since], clock) for change in changes])
    return (
        f"The preferences given the request changed {counted(len(changes), 'time')} "
        f"(since about {times})."
    )


def _gain_statement(gain: RoutingGain, prices: NDArray[np.float64]) -> str:
    points = [decimals(100 * each) for each in (gain.gain, gain.low, gain.high)]
    between = f"{points[1]} to {points[2]}"
    after = " after prices" if prices.any() else ""
    if gain.found:
        return (
            f"Routing by these features would gain {points[0]} points of preference per vote over "
            f"the best single option{after} (95% interval {between})."
        )
    return (
        f"No gain found: routing by these features instead of showing the best single option"
        f"{after} changes the preference per vote by {points[0]} points (95% interval {between})."
    )


def _remarks(votes: FeatureVotes, log: "Log") -> list[str]:
    if votes.adaptive:
        assumed = (
            "The evidence assumes that votes are independent given pair, request and time, and "
            "that each pair changed at most once; pairs may be chosen by earlier votes."
        )
    else:
        assumed = (
            "The evidence assumes that votes are independent given pair, request and time, and "
            "that pairs are not chosen by earlier votes (else: --adaptive). Preferences may change "
            "at any time; preferences and requests may change together "
            f"{'once' if CHANGES == 1 else f'{CHANGES} times'}."
        )
    remarks = [assumed]
    if len(votes.features) > 1:
        remarks.append(
            "The evidence of a single feature is about this feature alone: of two related features "
            "both may be established. Its level allows for the number of features."
        )
    remarks.append(
        "A change of the requests alone is no change of the preferences given the request. The "
        "error of 5% for changes is approximate: it assumes log-odds that are linear in the "
        "features."
    )
    remarks.append(
        "The gain is the difference of mean regrets, in points of preference (50: always against "
        "never), over the votes after the first tenth, each predicted from earlier ones. It "
        "assumes that predicted differences are too large or too small by common factors; with "
        "few votes for many options it tends to be slightly too large."
    )
    if log.counts.squares != log.counts.weight:
        remarks.append("Weights of votes are not used.")
    return remarks
