"""An arena inside a Python program: named options, duels, votes and the board."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

if TYPE_CHECKING:
    from driftduel.arena.board import Board
    from driftduel.arena.tag_report import ItemShare, TagCounts
    from driftduel.logs import Subgroups
from driftduel.arena.items import check_items, in_batches
from driftduel.arena.manager import ArenaManager, option_text
from driftduel.arena.page_settings import PageSettings
from driftduel.arena.problems import ArenaError
from driftduel.arena.records import Record
from driftduel.arena.responses import (
    Item,
    ItemsChanged,
    Option,
    ShownDuel,
    Vote,
    wait_durable,
)
from driftduel.arena.settings import ArenaSettings
from driftduel.arena.stores import open_store
from driftduel.errors import DriftduelError

__all__ = ["Arena"]


class Arena:
    """Options that people compare, and a policy that chooses the next pair.

    Each call is durable when it returns: the log is on the disk. After a crash, the constructor
    restores the same state from the log.

    Parameters
    ----------
    store
        A file such as ``headlines.db``, ``postgresql://...``, or None for memory.
    options
        The options of a new arena: names, or mappings with `name`, `kind` (``text``, ``markdown``,
        ``image``) and `content`. The default with items: the options with an answer.
    items
        Items of a new arena, on which its options are compared: mappings with `id`, `answers` (a
        dict from names of options to Markdown), and optionally `prompt` and `tags`.
    prices
        Prices of options of a new arena by name, in log-odds; the others have the price 0.
    name
        Name of the arena; a store can hold many.
    clock
        Function that returns the time in seconds since 1970.
    settings
        Settings of a new arena: `policy`, `mode`, `order`, `ties`, `seed`, `grace`, `lease`,
        `votes_a_day`, `show`, `features` and so on (`driftduel.arena.Settings`). With `features`,
        such as ``["category=chat,code", "length:number"]``, duels depend on requests; they never
        change, so an arena that exists must have the same. The defaults are those of
        ``driftduel arena new``. By default a vote can be undone until the next duel is asked for or
        the board is read. Pass `grace` to keep every vote undoable for that many seconds, as a
        server does.

    Examples
    --------
    >>> arena = Arena(options=["red", "green", "blue"], seed=7)
    >>> for _ in range(200):
    ...     shown = arena.ask()
    ...     pick = "left" if shown.left.name == "green" else "right"
    ...     _ = arena.vote(shown.duel, pick)
    >>> arena.best().name
    'green'
    >>> arena.close()
    """

    def __init__(
        self,
        store: str | None = None,
        *,
        options: Iterable[str | Mapping[str, Any]] | None = None,
        items: Iterable[Mapping[str, Any]] | None = None,
        prices: Mapping[str, float] | None = None,
        name: str = "arena",
        clock: Callable[[], float] = time.time,
        **settings: Unpack[ArenaSettings],
    ) -> None:
        self._manager = ArenaManager(open_store(store or "memory:"), clock)
        try:
            if not self._manager.store.exists(name):
                if options is None and items is None:
                    raise ArenaError(
                        "no-such-arena",
                        f"arena {name!r} does not exist; pass options= or items= to create it.",
                    )
                checked = None if items is None else list(check_items(items))
                self._manager.create(name, options, items=checked, prices=prices, **settings)
            self._live = self._manager.arena(name)
            if "features" in settings:
                self._live.check_features(settings["features"])
        except BaseException:
            self._manager.close()
            raise
        self.name = name
        self._keeps_graces = "grace" in settings

    def ask(
        self,
        voter: str | None = None,
        *,
        resume: bool = False,
        tags: Mapping[str, str] | None = None,
        request: Mapping[str, Any] | None = None,
    ) -> ShownDuel:
        """Choose the next duel; `resume` returns the voter's open duel, if there is one.

        The tags (at most 8, of at most 64 characters) become tags of the vote. An arena with
        features needs the request, a dict with a value of each feature; a duel is resumed for an
        equal request only.

        Raises
        ------
        ArenaError
            ``nothing-left``, if the voter reached the cap on every pair that is to be compared.
        """
        self._learn()
        return wait_durable(self._live.ask(voter, resume=resume, tags=tags, request=request))

    def renew(self, duel: str) -> float:
        """Renew the lease of a duel; return its end in seconds since 1970, 0 if it is not open."""
        return self._live.renew([duel])[0]

    def release(self, duel: str) -> None:
        """Release a duel without an answer, so that later votes do not wait for it."""
        wait_durable(self._live.release([duel]))

    def _learn(self) -> None:
        """Let the policy learn from undoable votes, unless the `grace` argument was passed."""
        if not self._keeps_graces and self._live.state.voted:
            wait_durable(self._live.end_graces())

    def vote(
        self,
        duel: str,
        pick: str | int | None = None,
        *,
        ranking: Sequence[str | int] | None = None,
        tags: Mapping[str, str] | None = None,
        reason: str = "",
    ) -> Vote:
        """Record an answer: left, right, tie, both-bad or skip.

        Of a slate, `pick` is the number of a card (the first of ``shown.options`` has number 1) or
        its letter, or `ranking` has the cards from the best one on; cards may be left out.
        Repeating the same answer is idempotent. Tags (as in `ask`) and a reason of at most 1,000
        characters are kept in the log, and exported with the vote.
        """
        vote = self._live.vote(duel, pick, ranking=ranking, tags=tags, reason=reason)
        return wait_durable(vote)

    def skip(self, duel: str) -> Vote:
        """Record that the voter gave no answer."""
        return self.vote(duel, "skip")

    def undo(self, duel: str) -> int:
        """Undo a vote within the grace period; return the sequence number of the new record."""
        return wait_durable(self._live.undo(duel))

    def join(self, name: str, kind: str = "text", content: str = "") -> Option:
        """Add an option, or readmit one that left; the first argument is its id or name.

        The arguments `kind` and `content` are used for a new option only.
        """
        self._learn()
        there = self._live.find(name)
        if there is not None and (there.id == name or not there.present):
            return wait_durable(self._live.come_back(there.id))
        text = option_text("", name, kind, content)
        return wait_durable(self._live.join(text.name, text.kind, text.content))

    def leave(self, option: str) -> Option:
        """Retire an option: it is no longer shown. The argument is its id or unique name."""
        self._learn()
        return wait_durable(self._live.leave(self._live.need(option).id))

    def options(self) -> list[Option]:
        """Return all options, with those that left."""
        return self._live.options()

    def add_items(
        self, items: Iterable[Mapping[str, Any]], *, replace: bool = False
    ) -> ItemsChanged:
        """Add items, as for the constructor; return how many were added.

        With `replace` an item may have an existing id: it gets new answers and tags, or, if
        contents have changed, takes the place of the old one.
        """
        changed = ItemsChanged()
        for batch in in_batches(list(check_items(items))):
            changed += wait_durable(self._live.add_items(batch, replace=replace))
        return changed

    def retire_item(self, item: str) -> Item:
        """Retire an item, given by its id: it is no longer shown."""
        return wait_durable(self._live.set_item_present(item, False))

    def readmit_item(self, item: str) -> Item:
        """Readmit a retired item."""
        return wait_durable(self._live.set_item_present(item, True))

    def erase_item(self, item: str) -> None:
        """Retire an item, and delete its contents from the store; votes on it stay."""
        wait_durable(self._live.erase_item(item))

    def item(self, item: str) -> Item:
        """Return an item by its id."""
        return self._live.item(item)

    def items(self, after: int = 0, limit: int = 1000) -> list[Item]:
        """Return items with a number above `after`, with retired ones and old versions."""
        return self._live.items(after, limit)

    def put_file(self, data: bytes, media: str = "") -> str:
        """Store an image or audio file; return its reference for contents of items."""
        return self._live.put_file(data, media)

    def page(self) -> PageSettings:
        """Return the settings of the vote page."""
        return self._live.page

    def set_page(self, **changes: Any) -> PageSettings:
        """Change settings of the vote page, the fields of `PageSettings`."""
        return self._live.set_page(**changes)

    def add_past_votes(self, votes: Sequence[tuple[str, str, str | None]]) -> int:
        """Import votes before the first duel: tuples of two options, and the winner or None.

        The values are ids or unique names of options. Returns the number of votes.
        """
        live = self._live
        arms = {
            each: live.state.arm(live.need(each).id)
            for each in {each for vote in votes for each in vote if each is not None}
        }
        rows = [
            [arms[first], arms[second], -1 if winner is None else int(winner == first), 1.0]
            for first, second, winner in votes
        ]
        return wait_durable(live.add_past_votes(rows))

    def void(self, seqs: Iterable[int], why: str) -> int:
        """Remove votes from all counts; the policy keeps its state. Return their number."""
        return wait_durable(self._live.void(seqs, why))

    def erase(self, voter: str) -> bool:
        """Delete the link from a voter to its pseudonym; the votes stay.

        Returns
        -------
        Whether the voter was known.
        """
        return self._live.erase(voter)

    def end(self) -> None:
        """Close the arena: no new duels; open duels can still be answered."""
        self._learn()
        wait_durable(self._live.end())

    def tick(self) -> None:
        """Process expired graces and leases."""
        wait_durable(self._live.tick())

    def best(self, request: Mapping[str, Any] | None = None) -> Option | None:
        """Return the option to use for a request after prices, or None.

        Without a request it is the leader: the best one for the mean of the last requests.
        """
        self._learn()
        return self._live.best(request)

    def prices(self) -> dict[str, float]:
        """Return the price of each option by its id; an empty dict if the policy takes none."""
        return self._live.prices()

    def set_prices(self, prices: Mapping[str, float]) -> dict[str, float]:
        """Change the prices of some options (ids or names), in log-odds; return all by id."""
        self._learn()
        return wait_durable(self._live.set_prices(prices))

    def board(self, tag: str | None = None) -> "Board":
        """Return the board: leader, evidence, changes and counts.

        With `tag`, for example ``topic:code``, ranking and pairs describe the votes with this tag,
        and the board makes no claim.
        """
        self._learn()
        return self._live.board(tag)

    def tags(self) -> "list[TagCounts]":
        """Return the tags of votes and of their items, with the numbers of votes."""
        return self._live.tags()

    def differences(self, by: str) -> "Subgroups":
        """Return shares of the options by value of a tag, and whether preferences depend on it."""
        self._learn()
        return self._live.differences(by)

    def lost_items(self, option: str, limit: int = 20) -> "list[ItemShare]":
        """Return the items on which an option, given by its id, wins least."""
        return self._live.lost_items(option, limit)

    def records(self, after: int = 0, limit: int = 10_000) -> list[Record]:
        """Return records of the log after sequence number `after`; by default from the first."""
        return self._live.records(after, limit)

    def close(self) -> None:
        """Close the store; the arena can be opened again."""
        with suppress(DriftduelError):  # the votes are durable even if the store fails now
            self._learn()
        self._manager.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self.board()._repr_html_()
