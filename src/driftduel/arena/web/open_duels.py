"""Limits of open duels per token and address, so that one client cannot evict all others."""

from types import TracebackType
from weakref import WeakKeyDictionary

from driftduel.arena.live import LiveArena
from driftduel.arena.web.limits import client_address
from driftduel.arena.web.operations import Call

__all__ = ["OpenDuels", "Reservation"]

_PARTS = (2, 10)  # divisors of the arena's `most_open`: for a token, for a voting address


class _Holders:
    """The open duels of one arena by holder, oldest first."""

    __slots__ = ("duels", "of", "places")

    def __init__(self) -> None:
        self.duels: dict[str, tuple[object, ...]] = {}
        self.of: dict[object, dict[str, None]] = {}
        self.places: dict[object, int] = {}
        """Number of reservations by holder."""

    def add(self, duel: str, keys: tuple[object, ...]) -> None:
        if duel not in self.duels:
            self.duels[duel] = keys
            for key in keys:
                self.of.setdefault(key, {})[duel] = None

    def drop(self, duel: str) -> None:
        for key in self.duels.pop(duel, ()):
            held = self.of[key]
            del held[duel]
            if not held:
                del self.of[key]

    def reserve(self, keys: tuple[object, ...], times: int) -> None:
        for key in keys:
            count = self.places.get(key, 0) + times
            if count:
                self.places[key] = count
            else:
                del self.places[key]

    def count(self, key: object) -> int:
        return len(self.of.get(key, ())) + self.places.get(key, 0)


class Reservation:
    """A reservation for one more duel; it expires without effect unless `duel` is set."""

    __slots__ = ("_holders", "_keys", "duel")

    def __init__(self, holders: _Holders, keys: tuple[object, ...]) -> None:
        self._holders, self._keys, self.duel = holders, keys, ""

    def __enter__(self) -> "Reservation":
        # Counted before the duel exists: concurrent requests must see it (a race otherwise).
        self._holders.reserve(self._keys, 1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._holders.reserve(self._keys, -1)
        if self.duel:
            self._holders.add(self.duel, self._keys)


class OpenDuels:
    """Limits the open duels of each token, and of each address that uses a voting token.

    A token may have half of an arena's open duels, an address a tenth; one more evicts the holder's
    own oldest duel. A program that asks for many voters from one address uses an owner's token. The
    methods must be called in the thread of the event loop.
    """

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[LiveArena, _Holders] = WeakKeyDictionary()

    def reserve(self, call: Call) -> tuple[Reservation, list[str]]:
        """Return a reservation for one more duel, and the holder's duels to release for it."""
        arena = call.arena
        holders, keys = self._holders(arena), _holder_keys(call)
        evicted = []
        for key, part in zip(keys, _PARTS, strict=False):
            limit = max(1, arena.state.settings.most_open // part)
            while holders.count(key) >= limit and (mine := holders.of.get(key)):
                oldest = next(iter(mine))
                holders.drop(oldest)
                if arena.is_open(oldest):
                    evicted.append(oldest)
        while (oldest_of_all := next(iter(holders.duels), None)) is not None:
            if arena.is_open(oldest_of_all):
                break
            holders.drop(oldest_of_all)
        return Reservation(holders, keys), evicted

    def drop(self, call: Call, duel: str) -> None:
        """Remove a duel that is no longer open."""
        self._holders(call.arena).drop(duel)

    def _holders(self, arena: LiveArena) -> _Holders:
        holders = self._of.get(arena)
        if holders is None:
            holders = self._of[arena] = _Holders()
        return holders


def _holder_keys(call: Call) -> tuple[object, ...]:
    """Return the holders of a request's duels: its token, and the address for a voting token."""
    if call.grant.scope != "vote":
        return (call.grant.key,)
    client = call.request.scope.get("client")
    return call.grant.key, client_address(client[0] if client else None)
