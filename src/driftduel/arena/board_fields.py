"""The fields of a board: attributes in Python, keys in JSON. All instances are immutable."""

from typing import Any

import msgspec

from driftduel.requests import Feature

__all__ = [
    "Answers",
    "CategoryLeader",
    "CertifiedChange",
    "FeatureEvidence",
    "Fields",
    "ItemCounts",
    "JudgeAgreement",
    "LeaderChange",
    "LeftShare",
    "Line",
    "NearestChallenger",
    "OptionName",
    "OptionPrice",
    "Pairs",
    "RankedOption",
    "RequestReport",
    "RivalEvidence",
    "Sentences",
    "Since",
    "StrengthHistory",
    "TagFilter",
    "VotesPerVoter",
]


class Fields(msgspec.Struct, frozen=True):
    """Base class of structs with two kinds of access: attribute ``x.name`` or key ``x["name"]``."""

    def __getitem__(self, key: str) -> Any:
        if key not in self.keys():
            raise KeyError(key)
        return getattr(self, key)

    def keys(self) -> tuple[str, ...]:
        """Return the names of the fields, without absent ones."""
        fields = self.__struct_fields__
        return tuple(key for key in fields if getattr(self, key) is not msgspec.UNSET)


class OptionName(Fields, frozen=True):
    """Id and name of an option."""

    id: str
    name: str


class Since(Fields, frozen=True):
    """The start of the leader's reign."""

    seq: int
    """Record of the log."""
    at: int
    """Milliseconds since 1970."""
    vote: int
    """Votes learned before it."""


class RivalEvidence(OptionName, frozen=True):
    """The evidence of the current stretch against one present rival of the leader."""

    wins: int
    """Counted duels that the leader won."""
    losses: int
    e: float
    """The e-value, at most 1e299."""
    needed: float
    """The threshold of the e-value."""


class NearestChallenger(OptionName, frozen=True):
    """The rival closest to taking the lead."""

    share: float
    """Its evidence as a fraction of the policy's threshold, from 0 to 1; with
    ``adaptive-logistic`` its odds against the leader for the mean request, after prices."""


class OptionPrice(OptionName, frozen=True):
    """The price of an option."""

    price: float
    """In log-odds."""


class CategoryLeader(Fields, frozen=True):
    """The policy's best guess for the requests with one value of a category."""

    feature: str
    value: str
    requests: int
    """Number of requests with this value."""
    leader: OptionName | None
    """The best option for the mean of the last ones, after prices; null before the first."""


class FeatureEvidence(Fields, frozen=True):
    """The evidence that preferences depend on the features, valid at all looks together."""

    votes: int
    """Votes that can be evidence."""
    looked: int
    """Votes at the last look; 0 before the first."""
    matters: bool
    """Whether the evidence has reached the threshold."""
    e: float
    """The e-value, at most a million."""
    needed: float
    """The threshold of the e-value."""
    which: list[str]
    """Features of which the evidence of each alone is enough."""


class RequestReport(Fields, frozen=True):
    """The features of an arena, whether they matter, and the leaders by category."""

    features: list[Feature]
    """Name, and values of a category, or centre and scale of a number."""
    routed: bool
    """Whether the policy chooses by the request; otherwise features are recorded only."""
    leaders: list[CategoryLeader]
    """One for each value of each category; empty if the policy does not choose by the request."""
    evidence: FeatureEvidence | None = None


class RankedOption(OptionName, frozen=True):
    """An option in the ranking, which describes the last `ranking_votes` votes."""

    present: bool
    rank: int | None
    """1 for the strongest option; the value is null for an option that has left."""
    strength: float | None
    """Estimated probability to be preferred to another present option drawn at random."""
    low: float | None
    """Lower end of the 95% band, for one look."""
    high: float | None
    wins: int
    """Duels won among these votes."""
    duels: int
    """Duels among these votes, with ties."""
    total_wins: int
    """Duels won among all learned votes."""
    total_duels: int


class LeaderChange(Fields, frozen=True):
    """A change of the leader."""

    seq: int
    at: int
    vote: int
    """Votes learned before it."""
    before: OptionName | None
    after: OptionName | None
    alarm: bool
    """Whether the policy raised an alarm: the leader lost too often for chance."""


class CertifiedChange(Fields, frozen=True):
    """A certified change of preferences between two options."""

    before: str
    """Name of the option that was preferred at first."""
    after: str
    """Name of the option that was preferred later."""
    from_vote: int
    to_vote: int
    """The preference changed after `from_vote` learned votes, and before or with vote `to_vote`."""
    level: float
    """Bound on the probability that this arena ever certifies a change that did not happen."""
    before_id: str
    after_id: str
    seq: int
    """The record by which it was certified."""
    at: int


class Pairs(Fields, frozen=True):
    """Votes by pair, rows over columns."""

    ids: list[str]
    wins: list[list[int]]
    """Among the last `ranking_votes` votes."""
    ties: list[list[int]]
    skips: list[list[int]]
    """Since the arena was opened."""


class Line(Fields, frozen=True):
    """Strengths of one option at the points of `StrengthHistory`; null values while absent."""

    id: str
    strength: list[float | None]
    low: list[float | None]
    high: list[float | None]


class StrengthHistory(Fields, frozen=True):
    """The ranking over time."""

    votes: list[int]
    """Votes that had arrived at each point."""
    at: list[int]
    """Milliseconds since 1970."""
    series: list[Line]


class LeftShare(Fields, frozen=True):
    """The share of picks on the left; the 95% bounds hold at all times together."""

    share: float | None
    low: float | None
    """null below 30 picks."""
    high: float | None


class Answers(Fields, frozen=True):
    """Quantiles of the time to answer, in seconds; null values without answers."""

    median: float | None
    p90: float | None


class ItemCounts(Fields, frozen=True):
    """The items of an arena, and how evenly they were shown."""

    count: int
    """Present items."""
    retired: int
    """Retired items, and replaced versions."""
    balance: str | None
    """The tag whose values are shown equally often on each pair."""
    fewest: int
    """Minimum number of duels with a present item."""
    most: int


class JudgeAgreement(Fields, frozen=True):
    """Agreement of one automatic judge with people, and its preference for the first place.

    Votes are compared on pairs and items on which both voted. All intervals are 95%.
    """

    judge: str
    votes: int
    """Votes with this tag, without skips."""
    shared: int
    """Pairs with an item on which the judge and people voted."""
    agreement: float | None
    """Share of people's votes with the judge's result on these, where each pair with an item has
    the same weight; a tie and "both bad" agree with each other only."""
    low: float | None
    high: float | None
    both_orders: int
    """Duels that the judge answered in both orders."""
    consistent: float | None
    """Share of these with the same preference in both orders."""
    first_share: float | None
    """Share of the judge's picks for the option it saw first; 1/2 without a position bias."""
    first_low: float | None
    first_high: float | None


class TagFilter(Fields, frozen=True):
    """The value of a tag to which ranking and pairs of a board are limited."""

    tag: str
    value: str
    votes: int
    """Valid votes with this value since the arena was opened."""


class VotesPerVoter(Fields, frozen=True):
    """Median and maximum of the number of votes per voter; null values without votes."""

    median: int | None
    most: int | None


class Sentences(Fields, frozen=True):
    """The sentences of a board, in the page, the terminal and notebooks."""

    claim: str
    doubt: str
    waiting: str
    """Empty string if no vote waits for an open duel."""
    challenger: str
    certified: str
    changes: str
    ranking: str
    left: str
    requests: str = ""
    """Leaders by category, whether features matter, prices; empty without features and prices."""
