"""Classes of request and response bodies, which validate input and define the OpenAPI schemas."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from driftduel.arena.board_fields import OptionName
from driftduel.arena.page_settings import LANGUAGE, PageSettings
from driftduel.arena.responses import Item, Option, ShownDuel, Vote
from driftduel.arena.settings import Settings
from driftduel.arena.slate_votes import MOST_SHOW
from driftduel.arena.state import MOST_PRICE
from driftduel.arena.tag_report import ItemShare, TagCounts
from driftduel.arena.tags import LONGEST_REASON, LONGEST_TAG, MOST_TAGS
from driftduel.arena.translations import word_keys
from driftduel.arena.web.item_schema import ITEM
from driftduel.arena.webhook_events import EVENTS
from driftduel.requests import MOST_FEATURES, MOST_VALUES

__all__ = [
    "ArenaMade",
    "Ask",
    "Best",
    "BestQuery",
    "BoardQuery",
    "Closed",
    "DifferencesQuery",
    "DuelPick",
    "Erased",
    "FileStored",
    "Health",
    "HookMade",
    "HookShown",
    "Hooks",
    "ItemChange",
    "Items",
    "ItemsQuery",
    "Leased",
    "Leases",
    "LogPage",
    "LogQuery",
    "LostItems",
    "LostItemsQuery",
    "NewArena",
    "NewHook",
    "NewItems",
    "NewOption",
    "NewToken",
    "NoQuery",
    "OptionChange",
    "Options",
    "Owner",
    "Page",
    "PageChange",
    "Pick",
    "Prices",
    "PricesChange",
    "Revealed",
    "SessionQuery",
    "TagList",
    "TokenMade",
    "TokenShown",
    "Tokens",
    "Undone",
    "VoidVotes",
    "Voided",
    "VoteQuery",
    "Voted",
    "Waiting",
    "set_fields",
    "with_slates",
]

#: No control characters, which terminals, log files and PostgreSQL do not handle.
_PLAIN = r"^(?![\s\S]*[\x00-\x1f\x7f])"
_NO_NUL = r"^(?![\s\S]*\x00)"
_SEQ = 2**62
# Only in the OpenAPI schema: the functions that check these values have better sentences.
_LANGUAGE_TAG = {"pattern": rf"^{LANGUAGE}(?![\s\S])"}
_KEY_VALUE = {"pattern": r"^[^:]+:[\s\S]"}
_LEFT_AND_RIGHT = {"allOf": [{"contains": {"const": "left"}}, {"contains": {"const": "right"}}]}

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=_PLAIN)]
Line = Annotated[str, Meta(max_length=200, pattern=_PLAIN)]
Content = Annotated[str, Meta(max_length=20_000, pattern=_NO_NUL)]
ArenaName = Annotated[
    str, Meta(min_length=1, max_length=63, pattern=r"^[a-z0-9][a-z0-9_-]*(?![\s\S])")
]
Spec = Annotated[str, Meta(min_length=1, max_length=500, pattern=_PLAIN)]
_TAG_TEXT = r"^(?![\s\S]*[\x00-\x1f\x7f-\x9f\u2028\u2029])"
_Tag = Annotated[str, Meta(min_length=1, max_length=LONGEST_TAG, pattern=_TAG_TEXT)]
Tags = Annotated[dict[_Tag, _Tag], Meta(max_length=MOST_TAGS)]
Kind = Literal["text", "markdown", "image"]
# The arena checks names and values, which depend on its features, and has better sentences.
_FEATURES = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["string", "number"]},
    "maxProperties": MOST_FEATURES,
}
Request = Annotated[Any, Meta(extra_json_schema=_FEATURES)]
_Price = Annotated[float, Meta(ge=-MOST_PRICE, le=MOST_PRICE)]
NamedPrices = Annotated[dict[Name, _Price], Meta(max_length=200)]
Event = Literal["alarm", "certified", "changed", "crowned", "sure", "closed"]


class _Request(Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of bodies and queries; unknown fields are refused as probable typing errors."""


class _Answer(Struct, frozen=True):
    """Base class of response bodies."""


# -- requests


class NoQuery(_Request, frozen=True):
    """No query parameters."""


class NewOption(_Request, frozen=True):
    """A new option: its name, and optionally the content that voters see."""

    name: Name
    kind: Kind = "text"
    content: Content = ""


class NewFeature(_Request, frozen=True, omit_defaults=True):
    """A feature of the requests: a category with its values, or a number with centre and scale."""

    name: _Tag
    values: Annotated[list[_Tag], Meta(max_length=MOST_VALUES)] = []
    centre: float = 0.0
    scale: Annotated[float, Meta(gt=0)] = 1.0


class NewArena(_Request, frozen=True):
    """Settings of a new arena; missing fields have the defaults."""

    name: ArenaName
    options: Annotated[list[Name | NewOption], Meta(min_length=2, max_length=200)]
    policy: Spec | UnsetType = UNSET
    mode: Literal["panel", "serve"] | UnsetType = UNSET
    order: Literal["asked", "arrival"] | UnsetType = UNSET
    ties: Literal["skip", "coin"] | UnsetType = UNSET
    claim: Literal["voters", "judges"] | UnsetType = UNSET
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | UnsetType = UNSET
    grace: Annotated[float, Meta(ge=0, le=3600)] | UnsetType = UNSET
    lease: Annotated[float, Meta(ge=1, le=30 * 86_400)] | UnsetType = UNSET
    votes_a_day: Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType = UNSET
    items: bool | UnsetType = UNSET
    balance: _Tag | UnsetType | None = UNSET
    evidence: Literal["all", "people"] | UnsetType = UNSET
    show: Annotated[int, Meta(ge=2, le=MOST_SHOW)] | UnsetType = UNSET
    feedback: Literal["pick", "ranking"] | UnsetType = UNSET
    features: Annotated[list[NewFeature], Meta(max_length=MOST_FEATURES)] | UnsetType = UNSET
    prices: NamedPrices | UnsetType = UNSET
    origins: (
        Annotated[
            list[Annotated[str, Meta(max_length=200, pattern=r"^https?://[^/\s?#@]+(?![\s\S])")]],
            Meta(max_length=100),
        ]
        | UnsetType
    ) = UNSET


class NewItems(_Request, frozen=True):
    """Items to add; with `replace` they may have existing ids.

    An answer or a prompt is a string (Markdown), ``{"image": URL}``, ``{"audio": URL}``, or an
    object with kind and content; the server checks them one by one.
    """

    items: Annotated[
        list[Annotated[dict[str, Any], Meta(extra_json_schema=ITEM)]],
        Meta(min_length=1, max_length=1000),
    ]
    replace: bool = False


class ItemChange(_Request, frozen=True):
    """Whether the item can be shown."""

    present: bool


class ItemsQuery(_Request, frozen=True):
    """A range of items: at most `limit` with a number above `after`."""

    after: Annotated[int, Meta(ge=0, le=_SEQ)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class PageChange(_Request, frozen=True):
    """New settings of the vote page; missing fields stay as they are."""

    title: Annotated[str, Meta(max_length=200, pattern=_NO_NUL)] | UnsetType = UNSET
    question: Annotated[str, Meta(max_length=500, pattern=_NO_NUL)] | UnsetType = UNSET
    instructions: Annotated[str, Meta(max_length=5000, pattern=_NO_NUL)] | UnsetType = UNSET
    language: (
        Annotated[str, Meta(min_length=2, max_length=40, extra_json_schema=_LANGUAGE_TAG)]
        | UnsetType
    ) = UNSET
    buttons: (
        Annotated[
            list[Literal["left", "right", "tie", "both-bad", "skip"]],
            Meta(min_length=2, max_length=5, extra_json_schema=_LEFT_AND_RIGHT),
        ]
        | UnsetType
    ) = UNSET
    reveal: bool | UnsetType = UNSET
    reasons: bool | UnsetType = UNSET
    words: (
        Annotated[
            dict[
                Annotated[str, Meta(extra_json_schema={"enum": list(word_keys())})],
                Annotated[str, Meta(max_length=500, pattern=_NO_NUL)],
            ],
            Meta(max_length=200),
        ]
        | UnsetType
    ) = UNSET


class Ask(_Request, frozen=True):
    """A voter; `resume` returns the open duel of this voter for an equal request, if there is one.

    The tags become tags of the vote. An arena with features needs the request, an object with a
    value of each feature.
    """

    voter: Name | None = None
    resume: bool = False
    tags: Tags = {}
    request: Request = None


class BestQuery(_Request, frozen=True):
    """The request to serve, if the arena has features."""

    request: Request = None


class PricesChange(_Request, frozen=True):
    """New prices in log-odds, by id or name of the option; other prices stay as they are."""

    prices: NamedPrices


class VoteQuery(_Request, frozen=True):
    """``?next=1`` also returns the next duel."""

    next: Literal[0, 1] = 0


class DuelPick(_Request, frozen=True):
    """The answer to a duel of two options, of an arena without slates."""

    pick: Literal["left", "right", "tie", "both-bad", "skip"]
    tags: Tags = {}
    reason: str = ""


class Pick(_Request, frozen=True):
    """The answer to a duel; ``both-bad`` counts as a tie, and is recorded apart.

    Of a slate, `pick` is the number or the letter of a card, or `ranking` has some cards, the best
    first, in place of `pick`.
    """

    more_schema: ClassVar[dict[str, Any]] = {
        "oneOf": [{"required": ["pick"]}, {"required": ["ranking"]}]
    }

    pick: (
        Literal["left", "right", "tie", "both-bad", "skip", "a", "b", "c", "d", "e", "f"]
        | Annotated[int, Meta(ge=1, le=MOST_SHOW)]
        | UnsetType
    ) = UNSET
    ranking: (
        Annotated[
            list[Literal["a", "b", "c", "d", "e", "f"] | Annotated[int, Meta(ge=1, le=MOST_SHOW)]],
            Meta(min_length=1, max_length=MOST_SHOW),
        ]
        | UnsetType
    ) = UNSET
    tags: Tags = {}
    reason: Annotated[str, Meta(max_length=LONGEST_REASON, pattern=_NO_NUL)] = ""


class Leases(_Request, frozen=True):
    """Open duels to renew or to release.

    A renewal within `after` seconds keeps a released duel.
    """

    duels: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=200)]], Meta(min_length=1, max_length=50)
    ]
    release: bool = False
    after: Annotated[float, Meta(ge=0, le=60)] = 0.0


class SessionQuery(_Request, frozen=True):
    """The page for which the cookie is set."""

    page: Literal["vote", "board", "own"] = "vote"


class OptionChange(_Request, frozen=True):
    """New values of an option's attributes; missing fields stay as they are."""

    name: Name | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    present: bool | UnsetType = UNSET


class VoidVotes(_Request, frozen=True):
    """Sequence numbers of votes to void, and a reason."""

    seqs: Annotated[list[Annotated[int, Meta(ge=1, le=_SEQ)]], Meta(min_length=1, max_length=1000)]
    why: Line = ""


class LogQuery(_Request, frozen=True):
    """A range of the log: at most `limit` records after `after`."""

    after: Annotated[int, Meta(ge=0, le=_SEQ)] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000


class NewHook(_Request, frozen=True):
    """URL and events of a webhook; ``crowned`` is the name of ``changed`` in version 0.2."""

    url: Annotated[str, Meta(min_length=8, max_length=500, pattern=r"^https?://[!-~]+(?![\s\S])")]
    events: Annotated[tuple[Event, ...], Meta(min_length=1, max_length=10)] = EVENTS


class NewToken(_Request, frozen=True):
    """Scope and label of a new token."""

    scope: Literal["vote", "read", "own"]
    label: Line = ""


# -- responses


class Revealed(_Answer, frozen=True):
    """The options of a duel, shown after the vote: both sides, or those on the cards of a slate."""

    left: OptionName | UnsetType = UNSET
    right: OptionName | UnsetType = UNSET
    options: list[OptionName] | UnsetType = UNSET


class Voted(Vote, frozen=True):
    """A recorded vote.

    `next` is the next duel, if it was requested; `revealed` has the names of the options, if the
    settings of the page allow it.
    """

    next: ShownDuel | UnsetType = UNSET
    revealed: Revealed | UnsetType = UNSET


class Page(PageSettings, frozen=True):
    """Settings of the vote page; `translated` has its words in its language."""

    translated: dict[str, str] = msgspec.field(default_factory=dict)
    items: bool = False
    """Whether the options are compared on items."""
    show: int | UnsetType = UNSET
    """Number of options shown at once in an arena with slates; absent in one with duels."""
    feedback: str | UnsetType = UNSET
    """The answer to a slate, ``pick`` or ``ranking``; absent in an arena with duels."""


def with_slates(page: Page, settings: Settings) -> Page:
    """Return the settings of a page with those of the slates of its arena, if it has any."""
    if not settings.has_slates:
        return page
    return msgspec.structs.replace(page, show=settings.show, feedback=settings.feedback)


class Items(_Answer, frozen=True):
    """Items in the order of their numbers; `next` is the value of `after` for the next page."""

    items: list[Item]
    next: int | None


class BoardQuery(_Request, frozen=True):
    """``KEY:VALUE`` limits ranking and pairs to votes with this tag; the board makes no claim."""

    tag: (
        Annotated[
            str,
            Meta(min_length=3, max_length=LONGEST_TAG * 2 + 1, extra_json_schema=_KEY_VALUE),
        ]
        | None
    ) = None


class DifferencesQuery(_Request, frozen=True):
    """The tag whose values are compared."""

    by: Annotated[str, Meta(min_length=1, max_length=LONGEST_TAG)]


class LostItemsQuery(_Request, frozen=True):
    """An option, and the maximum number of items."""

    option: Annotated[str, Meta(min_length=1, max_length=40)]
    limit: Annotated[int, Meta(ge=1, le=1000)] = 20


class TagList(_Answer, frozen=True):
    """The tags of votes and of their items."""

    tags: list[TagCounts]


class LostItems(_Answer, frozen=True):
    """Items on which an option wins least, compared with its overall share; worst first."""

    items: list[ItemShare]


class FileStored(_Answer, frozen=True):
    """A stored file: its reference for contents of items, and its path on this server."""

    file: str
    url: str


class Options(_Answer, frozen=True):
    """All options, with those that left."""

    options: list[Option]


class TokenShown(_Answer, frozen=True):
    """A token, without its secret."""

    prefix: str
    scope: str
    label: str


class Tokens(_Answer, frozen=True):
    """The tokens of an arena."""

    tokens: list[TokenShown]


class Waiting(_Answer, frozen=True):
    """Votes that are not learned yet, as on the board."""

    waiting: int
    held: int
    held_by: int


class Undone(_Answer, frozen=True):
    """Sequence number of the record that undoes a vote."""

    seq: int


class Leased(_Answer, frozen=True):
    """End of each lease, in seconds since 1970; 0 for a duel that is not open."""

    expires: list[float]


class ArenaMade(_Answer, frozen=True):
    """A new arena and its owner's token, which is shown only once."""

    arena: str
    token: str


class Best(_Answer, frozen=True):
    """The option to use after prices; null if the policy has no best guess."""

    option: Option | None


class Prices(_Answer, frozen=True):
    """All prices in log-odds, by id of the option."""

    prices: dict[str, float]


class Voided(_Answer, frozen=True):
    """Number of voided votes."""

    voided: int


class Closed(_Answer, frozen=True):
    """Whether the arena is closed."""

    closed: bool


class Erased(_Answer, frozen=True):
    """Whether a link to a pseudonym was deleted."""

    erased: bool


class LogPage(_Answer, frozen=True):
    """Records as ``[seq, at, kind, body]``; `next` is the value of `after` for the next page."""

    # A list instead of a tuple type: few OpenAPI tools support types per index.
    records: list[Annotated[list[Any], Meta(min_length=4, max_length=4)]]
    next: int | None


class HookShown(_Answer, frozen=True):
    """A webhook, and the sequence number of its last delivered record."""

    id: str
    url: str
    events: tuple[str, ...]
    done: int


class HookMade(_Answer, frozen=True):
    """A new webhook, and the secret for the signatures of its messages."""

    id: str
    secret: str


class Hooks(_Answer, frozen=True):
    """The webhooks of an arena."""

    hooks: list[HookShown]


class TokenMade(_Answer, frozen=True):
    """A new token, which is shown only once."""

    token: str


class Owner(_Answer, frozen=True):
    """Arena and scope of the token that was sent."""

    arena: str
    scope: str


class Health(_Answer, frozen=True):
    """Whether the server runs and reads its store.

    `damaged` counts arenas with a damaged log; `ok` is false if there are any. The other arenas
    are served, so the status stays 200.
    """

    ok: bool
    damaged: int = 0


def set_fields(struct: Struct) -> dict[str, Any]:
    """Return a dict of the fields that the request contained."""
    return {
        key: value for key, value in msgspec.structs.asdict(struct).items() if value is not UNSET
    }
