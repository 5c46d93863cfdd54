"""Value classes of an arena's replies, shared by Python and HTTP. Instances are immutable."""

from collections.abc import Mapping
from concurrent.futures import Future
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import msgspec

from driftduel.arena.items import ItemTags
from driftduel.arena.markdown import to_html
from driftduel.arena.problems import ArenaError
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import FencedError, OptionText, StoreError

__all__ = [
    "Content",
    "DurableReply",
    "Item",
    "ItemsChanged",
    "Option",
    "ShownDuel",
    "Vote",
    "blind",
    "option_of",
    "trouble",
    "wait_durable",
]

Answer = TypeVar("Answer")


# Without cycles, and created for every duel: `gc=False` spares work of the garbage collector.
class Option(msgspec.Struct, frozen=True, gc=False):
    """One of the alternatives that voters compare."""

    id: str
    name: str
    kind: str = "text"
    """One of the values ``text``, ``markdown`` and ``image``."""
    content: str = ""
    """Text shown with the name; for an image its URL."""
    present: bool = True
    html: str = ""
    """Markdown as HTML from an allow-list, with all other markup escaped."""


_html = lru_cache(maxsize=256)(to_html)  # an arena shows the same few options repeatedly


def option_of(state: ArenaState, texts: Mapping[str, OptionText], option_id: str) -> Option:
    """Return an option by its id; the default of a missing name is the id itself."""
    arm = state.arm(option_id)
    text = texts.get(option_id) or OptionText(option_id, option_id, "text", "")
    html = _html(text.content) if text.kind == "markdown" else ""
    return Option(text.id, text.name, text.kind, text.content, arm in state.present, html)


class Content(msgspec.Struct, frozen=True, gc=False):
    """A prompt, or an answer of an option to it."""

    kind: str
    """One of the values ``text``, ``markdown``, ``image`` and ``audio``."""
    content: str
    """The text; for an image or audio its URL."""
    html: str = ""
    """Markdown as HTML from an allow-list, with all other markup escaped."""


class Item(msgspec.Struct, frozen=True):
    """An item, for the owner of the arena."""

    number: int
    """Its number in the log, from 1."""
    id: str
    prompt: Content | None
    answers: dict[str, Content]
    """Answers by the name of the option."""
    tags: ItemTags
    present: bool
    """Whether it can be shown; False if it was retired or replaced."""
    shown: int
    """Number of duels with it."""


class ItemsChanged(msgspec.Struct, frozen=True):
    """Number of items by what was done with them."""

    added: int = 0
    replaced: int = 0
    """Items with other contents than before: a new version, with a new number."""
    extended: int = 0
    """Items with new answers or tags only: the number, and the votes on it, stay."""
    unchanged: int = 0

    def __add__(self, other: "ItemsChanged") -> "ItemsChanged":
        """Return the sums."""
        return ItemsChanged(
            *(getattr(self, key) + getattr(other, key) for key in self.__struct_fields__)
        )


class ShownDuel(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Two options to show side by side, one to show alone, or the options of a slate.

    Either `left` and `right`, or `alone`, or `options` have a value; the others are None or empty.
    """

    duel: str = ""
    """Signed id of the duel, required to vote."""
    left: Option | None = None
    right: Option | None = None
    expires: float = 0.0
    """End of the lease, in seconds since 1970."""
    alone: Option | None = None
    """The only option to show, without a vote."""
    prompt: Content | None = None
    """The prompt of the item; the contents of the options are the answers to it."""
    options: tuple[Option, ...] = ()
    """The options of a slate in the order of their cards, which are numbered from 1."""


def blind(shown: ShownDuel) -> ShownDuel:
    """Return a duel without attributes of options, for voters on items: only contents are left."""
    sides = {
        side: msgspec.structs.replace(option, id="", name="", present=True)
        for side in ("left", "right")
        if (option := getattr(shown, side)) is not None
    }
    cards = tuple(msgspec.structs.replace(card, id="", name="") for card in shown.options)
    return msgspec.structs.replace(shown, **sides, options=cards)


class Vote(msgspec.Struct, frozen=True):
    """A recorded vote."""

    seq: int
    """Sequence number of its record."""
    undo_until: float
    """End of its grace, in seconds since 1970."""
    counted: bool = True
    """Whether it counts; False for a skip, and beyond the voter's daily cap."""
    late: bool = False
    """Whether the duel had been given up before; the policy does not learn a late vote."""


class DurableReply(NamedTuple, Generic[Answer]):
    """A reply, and a future that is resolved when its records are durable."""

    answer: Answer
    durable: "Future[None]"


def wait_durable(pending: DurableReply[Answer]) -> Answer:
    """Block until the records of a reply are durable; return the reply.

    Raises
    ------
    ArenaError
        ``store-trouble`` or ``owned-elsewhere``, if the commit failed.
    """
    error = pending.durable.exception()
    if isinstance(error, StoreError):
        raise trouble(error) from error
    if error is not None:
        raise error
    return pending.answer


def trouble(error: Exception) -> ArenaError:
    """Convert a StoreError of a failed commit to an ArenaError."""
    if isinstance(error, FencedError):
        return ArenaError("owned-elsewhere", f"{error} Repeat the request.")
    return ArenaError("store-trouble", f"{error} Nothing was stored; try again.")
