"""The JSON objects that the `log` commands print: one class for each command, and its JSON Schema.

Votes are whole numbers, and a time is a number or an ISO 8601 string; the same times as text for
people are under ``*_text``.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

__all__ = ["OUTPUTS", "json_schema", "validate"]

Time = int | float | str
Share = Annotated[float, Meta(ge=0, le=1)]
Votes = Annotated[int, Meta(ge=0)]

_Options = Annotated[list[str], Meta(description="the options")]
_Kind = Annotated[str, Meta(description="the model: utilities, pairs or walk")]
_LogVotes = Annotated[Votes, Meta(description="votes that were counted")]
_Notes = Annotated[list[str], Meta(description="assumptions made while reading, in sentences")]
_Remarks = Annotated[list[str], Meta(description="further remarks, in sentences")]
_Rounds = Annotated[int, Meta(description="rounds of traffic")]
_Files = Annotated[list[str], Meta(description="the files that were written")]
_Low = Annotated[float, Meta(description="lower end of the 90% interval")]
_High = Annotated[float, Meta(description="upper end of the 90% interval")]
_Skipped = Annotated[
    dict[str, int], Meta(description="rows that cannot be read as a vote, by reason")
]
_LeftOut = Annotated[list[str], Meta(description="options that were left out")]
_Benchmark = Annotated[str, Meta(description="the winner that regret is against")]
_TagValue = Annotated[str, Meta(description="a value of the tag")]


class _Output(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The base class of JSON objects without additional fields."""


class Summary(_Output, rename={"from_": "from"}):
    """The JSON object that `driftduel log summary --json` prints."""

    options: _Options
    votes: _LogVotes
    rows: Annotated[int, Meta(description="rows, with those that cannot be read")]
    skipped: _Skipped
    from_: Annotated[Time, Meta(description="time of the first vote")]
    from_text: Annotated[str, Meta(description="the same as text")]
    to: Annotated[Time, Meta(description="time of the last vote")]
    to_text: Annotated[str, Meta(description="the same as text")]
    pairs_seen: Annotated[int, Meta(description="pairs with at least one vote")]
    ties: Annotated[Votes, Meta(description="votes that are ties")]
    phi: Annotated[float, Meta(description="dispersion of the votes; 1: independent")]
    first_advantage: Annotated[
        Share | None,
        Meta(description="share of wins of the first of two equal options; null: not known"),
    ]
    first_advantage_between: Annotated[
        list[Share] | None, Meta(description="its 95% interval, two numbers")
    ]
    heaviest_group: Annotated[
        Share | None, Meta(description="the largest share of the votes that one group has")
    ]
    weighted: Annotated[bool, Meta(description="whether votes have different weights")]
    effective_votes: Annotated[float, Meta(description="Kish's effective number of votes")]
    first_place: Annotated[
        float, Meta(description="advantage of the first place as a logit; 0: not modelled")
    ]
    left_out: _LeftOut
    absent: Annotated[list[str], Meta(description="options not present at the end of the log")]
    fit: _Kind
    now: Annotated[
        dict[str, Share], Meta(description="probability of each present option to be best now")
    ]
    nobody: Annotated[Share, Meta(description="probability that there is no Condorcet winner")]
    winner: Annotated[str | None, Meta(description="the most probable winner; null: there is none")]
    likely: Annotated[
        list[str], Meta(description="smallest set that holds the winner with 95% probability")
    ]
    since: Annotated[Time, Meta(description="time since which the winner has been most probable")]
    since_text: Annotated[str, Meta(description="the same as text")]
    sure_however_often_one_looks: Annotated[
        bool, Meta(description="anytime-valid claim that the winner beats all others, 5% error")
    ]
    notes: _Notes
    remarks: _Remarks


class ChangeRow(_Output):
    """A reported change."""

    time: Annotated[Time, Meta(description="time of the change")]
    time_text: Annotated[str, Meta(description="the same as text")]
    low: Annotated[Time, Meta(description="start of the 95% interval of its time")]
    low_text: Annotated[str, Meta(description="the same as text")]
    high: Annotated[Time, Meta(description="end of the 95% interval of its time")]
    high_text: Annotated[str, Meta(description="the same as text")]
    vote: Annotated[Votes, Meta(description="number of the first vote after it, from 1")]
    vote_low: Annotated[Votes, Meta(description="number of the vote at `low`")]
    vote_high: Annotated[Votes, Meta(description="number of the vote at `high`")]
    changed: Annotated[Share, Meta(description="probability of a change here")]
    winner_changed: Annotated[Share, Meta(description="probability that the winner changed")]
    new_winner: Annotated[bool, Meta(description="whether `before` and `after` differ")]
    before: Annotated[
        str | None, Meta(description="winner before, of the most probable pair of winners")
    ]
    after: Annotated[str | None, Meta(description="winner after, of the same pair")]
    cause: Annotated[
        str,
        Meta(description="preferences; joined or left: the winner changed with the options"),
    ]
    p: Annotated[
        Share | None, Meta(description="p-value of the permutation test; null: not tested")
    ]
    q: Annotated[Share | None, Meta(description="p adjusted for the number of changes")]


class ChangesOutput(_Output):
    """The JSON object that `driftduel log changes --json` prints."""

    options: _Options
    votes: _LogVotes
    fit: _Kind
    phi: Annotated[float, Meta(description="dispersion of the votes; 1: independent")]
    changes: Annotated[list[ChangeRow], Meta(description="the reported changes, in order of time")]
    winner_switches: Annotated[int, Meta(description="reported changes with a new winner")]
    winner_switches_at_least: Annotated[
        int, Meta(description="lower bound without a model, 95% confidence")
    ]
    certain_between: Annotated[
        list[list[Time]], Meta(description="windows of these switches, two times each")
    ]
    certain_between_text: Annotated[list[list[str]], Meta(description="the same as text")]
    notes: _Notes
    remarks: _Remarks


class MeasureRow(_Output):
    """A measure of non-stationarity."""

    low: _Low
    median: Annotated[float, Meta(description="median of the posterior draws")]
    high: _High
    told: Annotated[bool, Meta(description="whether the log determines this measure")]
    bound: Annotated[
        float | None, Meta(description="lower bound with 95% confidence; null: there is none")
    ]


class MeasuresOutput(_Output):
    """The JSON object that `driftduel log measure --json` prints."""

    options: _Options
    votes: _LogVotes
    rounds: _Rounds
    fit: _Kind
    preference_switches: Annotated[MeasureRow, Meta(description="S^P")]
    condorcet_switches: Annotated[MeasureRow, Meta(description="S^CW")]
    significant_switches: Annotated[MeasureRow, Meta(description="significant switches")]
    total_variation: Annotated[MeasureRow, Meta(description="V")]
    condorcet_variation: Annotated[MeasureRow, Meta(description="variation against the winner")]
    notes: _Notes
    remarks: _Remarks


class PairRow(_Output):
    """A pair of options at the end of the log."""

    a: Annotated[str, Meta(description="an option")]
    b: Annotated[str, Meta(description="another option")]
    probability: Annotated[
        Share | None, Meta(description="probability that a beats b in a decided vote")
    ]
    low: Annotated[Share | None, Meta(description="lower end of the 95% interval")]
    high: Annotated[Share | None, Meta(description="upper end of the 95% interval")]
    a_first: Annotated[
        Share | None, Meta(description="the same if a is shown first; null: no such column")
    ]
    b_first: Annotated[
        Share | None, Meta(description="the same if b is shown first; null: no such column")
    ]


class Forecasts(_Output):
    """The JSON object that `driftduel log forecast --json` prints."""

    options: _Options
    present: Annotated[list[str], Meta(description="options present at the end of the log")]
    votes: _LogVotes
    fit: _Kind
    first_place: Annotated[
        float, Meta(description="advantage of the option shown first, a logit; 0: none")
    ]
    pairs: Annotated[list[PairRow], Meta(description="the pair asked for, or all present pairs")]
    notes: _Notes
    remarks: _Remarks


class PredictedBy(_Output):
    """A model and its log-loss."""

    model: Annotated[str, Meta(description="driftduel, or the name of a rating")]
    log_loss: Annotated[float, Meta(description="mean log-loss of a predicted vote")]
    difference: Annotated[
        float | None, Meta(description="log-loss of driftduel minus this; null for driftduel")
    ]
    standard_error: Annotated[
        float | None, Meta(description="of the difference, over blocks; null for driftduel")
    ]


class Evaluated(_Output):
    """The JSON object that `driftduel log evaluate --json` prints."""

    options: _Options
    votes: _LogVotes
    blocks: Annotated[int, Meta(description="blocks that were predicted")]
    votes_predicted: Annotated[float, Meta(description="votes in them, by weight")]
    models: Annotated[list[PredictedBy], Meta(description="lowest log-loss first")]
    notes: _Notes
    remarks: _Remarks


class WorldFiles(_Output):
    """The JSON object that `driftduel log world --json` prints."""

    files: _Files
    rounds: _Rounds
    options: _Options


class OwnRegret(_Output):
    """Regret of the log's own duels."""

    regret: Annotated[float, Meta(description="mean over the drawn worlds")]
    low: _Low
    high: _High


class ComparedPolicy(_Output):
    """A policy on worlds drawn from the posterior."""

    policy: Annotated[str, Meta(description="its spec")]
    regret: Annotated[float, Meta(description="mean over the drawn worlds")]
    low: _Low
    high: _High
    saves: Annotated[float, Meta(description="share of the log's own regret that it saves")]
    saves_low: _Low
    saves_high: _High
    best_in: Annotated[int, Meta(description="worlds in which it has the least regret")]


class Compared(_Output):
    """The JSON object that `driftduel log compare --json` prints."""

    options: _Options
    votes: _LogVotes
    fit: _Kind
    rounds: _Rounds
    sisters: Annotated[int, Meta(description="worlds drawn from the posterior")]
    runs: Annotated[int, Meta(description="games of each policy on each world")]
    benchmark: _Benchmark
    own: Annotated[OwnRegret, Meta(description="regret of the log's own duels")]
    policies: Annotated[list[ComparedPolicy], Meta(description="least regret first")]
    remarks: _Remarks
    notes: _Notes


class ReplayedPolicy(_Output):
    """A policy on the log's real outcomes."""

    policy: Annotated[str, Meta(description="its spec")]
    how: Annotated[str, Meta(description="the unit of a round: events or blocks")]
    rounds: Annotated[int, Meta(description="rounds of the replay")]
    votes: Annotated[Votes, Meta(description="votes that the rounds are made of")]
    compression: Annotated[float, Meta(description="votes per round")]
    answered: Annotated[Share, Meta(description="share of the duels that have an outcome")]
    benchmark: _Benchmark
    runs: Annotated[int, Meta(description="games")]
    regret: Annotated[float, Meta(description="mean on the real outcomes")]
    regret_sd: Annotated[float, Meta(description="its standard deviation over games")]
    simulated: Annotated[float, Meta(description="mean regret on the fitted world")]
    simulated_sd: Annotated[float, Meta(description="its standard deviation over games")]
    apart: Annotated[
        float, Meta(description="difference of the means, in `simulated_sd`; 0 if that is 0")
    ]
    own: Annotated[float, Meta(description="regret of the log's own pairs in as many rounds")]


class Replayed(_Output):
    """The JSON object that `driftduel log replay --json` prints."""

    options: _Options
    votes: _LogVotes
    fit: _Kind
    policies: Annotated[list[ReplayedPolicy], Meta(description="in the order given")]
    notes: _Notes


class CountedFiles(_Output):
    """The JSON object that `driftduel log count --json` prints."""

    file: Annotated[str, Meta(description="the file of counts")]
    options: _Options
    votes: _LogVotes
    rows: Annotated[int, Meta(description="rows, with those that cannot be read")]
    skipped: _Skipped
    left_out: _LeftOut
    notes: _Notes


class Report(_Output):
    """The JSON object that `driftduel log report --json` prints."""

    page: Annotated[str, Meta(description="path of the page")]
    now: Annotated[str, Meta(description="which option is best now, in a sentence")]
    changes: Annotated[str, Meta(description="what changed, in a sentence")]
    notes: _Notes


class SubgroupValue(_Output):
    """One value of a tag."""

    value: _TagValue
    votes: Annotated[Votes, Meta(description="votes with this value")]


class SubgroupShare(_Output):
    """The share of votes that an option wins in one subgroup."""

    option: Annotated[str, Meta(description="the option")]
    value: _TagValue
    votes: Annotated[Votes, Meta(description="votes of the option in this subgroup")]
    share: Annotated[Share, Meta(description="shrunk towards the overall share; ties count half")]
    low: Annotated[Share, Meta(description="lower end of the 95% interval")]
    high: Annotated[Share, Meta(description="upper end of the 95% interval")]
    overall: Annotated[Share, Meta(description="share over all subgroups against the same rivals")]


class SubgroupReversal(_Output):
    """A pair whose order in a subgroup is the opposite of the overall order."""

    value: _TagValue
    better: Annotated[str, Meta(description="the option preferred overall")]
    worse: Annotated[str, Meta(description="the other option")]
    votes: Annotated[Votes, Meta(description="votes of the pair in this subgroup")]
    overall: Annotated[Share, Meta(description="share of `better` over all subgroups")]
    share: Annotated[Share, Meta(description="share of `better` here, shrunk")]
    probability: Annotated[Share, Meta(description="posterior probability of the reversal")]


class Subgroups(_Output):
    """The JSON object that `driftduel log tags --json` prints, and a board filtered by tag has."""

    tag: Annotated[str, Meta(description="the name of the tag")]
    votes: Annotated[Votes, Meta(description="votes with a value of the tag")]
    values: Annotated[list[SubgroupValue], Meta(description="most votes first")]
    matters: Annotated[
        bool, Meta(description="anytime-valid claim that preferences depend on it, 5% error")
    ]
    evidence: Annotated[float, Meta(description="the e-value; the claim needs 20")]
    statement: Annotated[str, Meta(description="the claim as a sentence")]
    shares: Annotated[list[SubgroupShare], Meta(description="shares of options by value")]
    reversed: Annotated[
        list[SubgroupReversal], Meta(description="pairs in the opposite order, most probable first")
    ]
    remarks: _Remarks


class FeatureRow(_Output):
    """One feature of the requests."""

    name: Annotated[str, Meta(description="its column")]
    kind: Annotated[str, Meta(description="number or category")]
    values: Annotated[list[str], Meta(description="the categories; empty for a number")]
    matters: Annotated[bool, Meta(description="anytime-valid claim about it alone")]
    evidence: Annotated[float, Meta(description="its largest e-value alone")]
    required: Annotated[float, Meta(description="the e-value that the claim needs")]


class FeatureChange(_Output):
    """A change of the preferences given the request."""

    since: Annotated[Time, Meta(description="time since which recent votes predict better")]
    since_text: Annotated[str, Meta(description="the same as text")]
    established: Annotated[Time, Meta(description="time at which the evidence sufficed")]
    established_text: Annotated[str, Meta(description="the same as text")]
    vote: Annotated[Votes, Meta(description="number of that vote, from 1")]
    evidence: Annotated[float, Meta(description="the evidence")]


class FeatureGain(_Output):
    """Mean regrets of showing the best single option and of routing by the features."""

    found: Annotated[bool, Meta(description="whether the interval lies above 0")]
    regret_single: Annotated[float, Meta(description="mean regret of the best single option")]
    regret_router: Annotated[float, Meta(description="mean regret of the router")]
    gain: Annotated[float, Meta(description="their difference")]
    low: Annotated[float, Meta(description="lower end of the 95% interval of the gain")]
    high: Annotated[float, Meta(description="upper end of the 95% interval of the gain")]
    slope: Annotated[float, Meta(description="share of the predicted dependence that is confirmed")]
    votes: Annotated[Votes, Meta(description="votes that were predicted")]


class FeaturesOutput(_Output):
    """The JSON object that `driftduel log features --json` prints."""

    options: _Options
    votes: Annotated[Votes, Meta(description="decided votes, one for each group and pair")]
    matters: Annotated[
        bool, Meta(description="anytime-valid claim that preferences depend on them, 5% error")
    ]
    evidence: Annotated[float, Meta(description="the largest e-value; the claim needs 20")]
    statement: Annotated[str, Meta(description="the claim as a sentence")]
    features: Annotated[list[FeatureRow], Meta(description="each feature alone")]
    changes: Annotated[list[FeatureChange], Meta(description="changes, in order of time")]
    changes_statement: Annotated[str, Meta(description="the changes as a sentence")]
    prices: Annotated[dict[str, float], Meta(description="price of each option, in log-odds")]
    gain: Annotated[FeatureGain, Meta(description="the gain of routing")]
    gain_statement: Annotated[str, Meta(description="the gain as a sentence")]
    notes: _Notes
    remarks: _Remarks


OUTPUTS: dict[str, type[_Output]] = {
    "summary": Summary,
    "changes": ChangesOutput,
    "measure": MeasuresOutput,
    "forecast": Forecasts,
    "evaluate": Evaluated,
    "world": WorldFiles,
    "compare": Compared,
    "replay": Replayed,
    "tags": Subgroups,
    "features": FeaturesOutput,
    "report": Report,
    "count": CountedFiles,
}
"""The output class of each command by its name."""


def json_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output of a command."""
    (reference,), components = msgspec.json.schema_components([OUTPUTS[command]])
    title = reference["$ref"].rpartition("/")[2]
    schema = dict(components.pop(title))
    definitions = {"$defs": components} if components else {}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, **definitions}


def validate(command: str, text: str | bytes) -> None:
    """Raise `msgspec.ValidationError` unless JSON is valid output of a command."""
    msgspec.json.decode(text, type=OUTPUTS[command])
