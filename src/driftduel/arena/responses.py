"""What an arena answers: plain values, the same in process and through HTTP."""

from collections.abc import Mapping
from concurrent.futures import Future
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import msgspec

from driftduel.arena.markdown import to_html
from driftduel.arena.problems import ArenaError
from driftduel.arena.state import ArenaState
from driftduel.arena.stores import FencedError, OptionText, StoreError

__all__ = ["DurableReply", "Option", "ShownDuel", "Vote", "option_of", "trouble", "wait_durable"]

Answer = TypeVar("Answer")


class Option(msgspec.Struct, frozen=True):
    """Something that people compare."""

    id: str
    name: str
    kind: str = "text"
    """``text``, ``markdown`` or ``image``."""
    content: str = ""
    """What is shown under the name; of an image its address."""
    present: bool = True
    html: str = ""
    """Markdown as a page may show it: written from an allow-list, everything else escaped."""


_html = lru_cache(maxsize=256)(to_html)  # the same few options are shown again and again


def option_of(state: ArenaState, texts: Mapping[str, OptionText], option_id: str) -> Option:
    """Return an option by its id; one whose text was erased is called by it."""
    arm = state.arm(option_id)
    text = texts.get(option_id) or OptionText(option_id, option_id, "text", "")
    html = _html(text.content) if text.kind == "markdown" else ""
    return Option(text.id, text.name, text.kind, text.content, arm in state.present, html)


class ShownDuel(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two options to show side by side, or one to show alone."""

    duel: str = ""
    """The duel's name: who votes has to say it."""
    left: Option | None = None
    right: Option | None = None
    expires: float = 0.0
    """Until when a vote counts, in seconds since 1970."""
    alone: Option | None = None
    """The one option to show, to nobody's vote."""


class Vote(msgspec.Struct, frozen=True):
    """A vote that was taken."""

    seq: int
    """Its place in the log."""
    undo_until: float
    """Until when it can be undone, in seconds since 1970."""
    counted: bool = True
    """Whether it counts, or is one too many of this voter's, or a skip."""
    late: bool = False
    """Whether it came after the duel had been given up; then nobody learns from it."""


class DurableReply(NamedTuple, Generic[Answer]):
    """An answer, and when it may be given: as soon as the log has what it rests on."""

    answer: Answer
    durable: "Future[None]"


def wait_durable(pending: DurableReply[Answer]) -> Answer:
    """Wait until the log has what an answer rests on; return the answer."""
    error = pending.durable.exception()
    if isinstance(error, StoreError):
        raise trouble(error) from error
    if error is not None:
        raise error
    return pending.answer


def trouble(error: Exception) -> ArenaError:
    """Say to whoever waits that the log did not take it."""
    if isinstance(error, FencedError):
        return ArenaError("owned-elsewhere", f"{error} Ask again.")
    return ArenaError("store-trouble", f"{error} Nothing was taken; try again.")
