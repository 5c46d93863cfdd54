"""Who was given the duels that are open: nobody may have so many that others cannot be asked."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from driftduel.arena.live import Live
from driftduel.arena.web.limits import client_address
from driftduel.arena.web.operations import Call

__all__ = ["OpenDuels"]

_TOKENS_PART, _ADDRESS_PART = 2, 10


class _Holders:
    """Of one arena: whose its open duels are, the oldest first, and how many each has."""

    def __init__(self) -> None:
        self.duels: dict[str, tuple[object, ...]] = {}
        self.counts: Counter[object] = Counter()

    def drop(self, duel: str) -> None:
        self.release(self.duels.pop(duel, ()))

    def release(self, whose: tuple[object, ...]) -> None:
        for key in whose:
            self.counts[key] -= 1
            if not self.counts[key]:
                del self.counts[key]


class OpenDuels:
    """Counts the open duels of each token, and of each address that comes with a voter's token.

    A token may have half of what an arena may have open, an address a tenth. A program that asks
    for many people has one address: it takes an owner's token.
    """

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Live, _Holders] = WeakKeyDictionary()

    def full(self, call: Call) -> str:
        """Say why who asks can be given no duel more; empty if there is room."""
        holders, most = self._holders(call.arena), call.arena.state.settings.most_open
        parts = (_TOKENS_PART, _ADDRESS_PART)
        for key, who, part in zip(_whose(call), ("token", "address"), parts, strict=False):
            limit = max(1, most // part)
            if holders.counts[key] >= limit:
                return f"{limit:,} duels of this {who} are open; answer some first."
        return ""

    @contextmanager
    def given(self, call: Call) -> Iterator[list[str]]:
        """Count one duel more; its name is put into the list. If there is none, none is counted."""
        holders, whose = self._holders(call.arena), _whose(call)
        holders.counts.update(whose)  # now, not when the log has it: others ask meanwhile
        names: list[str] = []
        try:
            yield names
        finally:
            if any(names) and names[0] not in holders.duels:
                holders.duels[names[0]] = whose
            else:
                holders.release(whose)

    def answered(self, call: Call, duel: str) -> None:
        """Note that a duel is open no more."""
        self._holders(call.arena).drop(duel)

    def _holders(self, arena: Live) -> _Holders:
        holders = self._of.get(arena)
        if holders is None:
            holders = self._of[arena] = _Holders()
        # Leases end in the order in which duels were asked for.
        while (oldest := next(iter(holders.duels), None)) and not arena.is_open(oldest):
            holders.drop(oldest)
        return holders


def _whose(call: Call) -> tuple[object, ...]:
    """Return what a request's duels are counted by: its token, and a voter's address."""
    if call.grant.scope != "vote":
        return (call.grant.key,)
    client = call.request.scope.get("client")
    return call.grant.key, client_address(client[0] if client else None)
