"""Who was given the duels that are open: nobody may have so many that others cannot be asked."""

from types import TracebackType
from weakref import WeakKeyDictionary

from driftduel.arena.live import Live
from driftduel.arena.problems import ArenaError
from driftduel.arena.web.limits import client_address
from driftduel.arena.web.operations import Call

__all__ = ["OpenDuels"]

_PARTS = (("token", 2), ("address", 10))


class _Holders:
    """Of one arena: whose its open duels are, the oldest first, and how many each has."""

    __slots__ = ("counts", "duels")

    def __init__(self) -> None:
        self.duels: dict[str, tuple[object, ...]] = {}
        self.counts: dict[object, int] = {}

    def add(self, whose: tuple[object, ...], times: int) -> None:
        for key in whose:
            count = self.counts.get(key, 0) + times
            if count:
                self.counts[key] = count
            else:
                del self.counts[key]

    def drop(self, duel: str) -> None:
        self.add(self.duels.pop(duel, ()), -1)


class _Place:
    """Room for one duel more; if `duel` is not set when it ends, it was not needed."""

    __slots__ = ("_holders", "_whose", "duel")

    def __init__(self, holders: _Holders, whose: tuple[object, ...]) -> None:
        self._holders, self._whose, self.duel = holders, whose, ""

    def __enter__(self) -> "_Place":
        # Now, not when the log has it: others ask meanwhile.
        self._holders.add(self._whose, 1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.duel and self.duel not in self._holders.duels:
            self._holders.duels[self.duel] = self._whose
        else:
            self._holders.add(self._whose, -1)


class OpenDuels:
    """Counts the open duels of each token, and of each address that comes with a voter's token.

    A token may have half of what an arena may have open, an address a tenth. A program that asks
    for many people has one address: it takes an owner's token.
    """

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Live, _Holders] = WeakKeyDictionary()

    def place(self, call: Call) -> _Place:
        """Return room for one duel more, or refuse it."""
        arena = call.arena
        holders, whose = self._holders(arena), _whose(call)
        # Leases end in the order in which duels were asked for.
        while (oldest := next(iter(holders.duels), None)) and not arena.is_open(oldest):
            holders.drop(oldest)
        for key, (who, part) in zip(whose, _PARTS, strict=False):
            limit = max(1, arena.state.settings.most_open // part)
            if holders.counts.get(key, 0) >= limit:
                raise ArenaError(
                    "too-many", f"{limit:,} duels of this {who} are open; answer some first."
                )
        return _Place(holders, whose)

    def answered(self, call: Call, duel: str) -> None:
        """Note that a duel is open no more."""
        self._holders(call.arena).drop(duel)

    def _holders(self, arena: Live) -> _Holders:
        holders = self._of.get(arena)
        if holders is None:
            holders = self._of[arena] = _Holders()
        return holders


def _whose(call: Call) -> tuple[object, ...]:
    """Return what a request's duels are counted by: its token, and a voter's address."""
    if call.grant.scope != "vote":
        return (call.grant.key,)
    client = call.request.scope.get("client")
    return call.grant.key, client_address(client[0] if client else None)
