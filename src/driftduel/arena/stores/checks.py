"""Functions and a class with the checks that all stores perform before a write."""

from driftduel.arena.problems import ArenaError
from driftduel.arena.stores.base import MOST_HOOKS, PREFIX, Append, FencedError, StoreError

__all__ = ["SequenceChecker", "matches_token", "require_hook_capacity"]


class SequenceChecker:
    """Checks that appended records follow the last stored one, entry by entry.

    Parameters
    ----------
    lasts
        Dict from the names of existing arenas to the sequence number of the last record.
    """

    def __init__(self, lasts: dict[str, int]) -> None:
        self.lasts = lasts
        self._failed: dict[str, Exception] = {}

    def check(self, entry: Append) -> Exception | None:
        """Accept an entry and return None, or return the error that prevents writing it.

        After a failed entry all later ones of that arena fail: they were numbered after it, and
        could otherwise fit behind a record of another process that took its sequence number.
        """
        trouble = self._failed.get(entry.arena) or self._trouble(entry)
        if trouble is None:
            self.lasts[entry.arena] += len(entry.records)
        else:
            self._failed[entry.arena] = trouble
        return trouble

    def _trouble(self, entry: Append) -> Exception | None:
        arena, records, upto = entry.arena, entry.records, entry.upto
        last = self.lasts.get(arena)
        if last is None:
            return StoreError(f"arena {arena!r} does not exist.")
        first = records[0].seq if records else last + 1
        if not records and upto is not None:  # a snapshot without records
            first = upto + 1
        if first <= last:
            return FencedError(
                f"record {first} of arena {arena!r} exists already: another process wrote it and "
                "owns the arena now."
            )
        expected = range(last + 1, last + 1 + len(records))
        if first != expected.start or [record.seq for record in records] != list(expected):
            return StoreError(
                f"record {first} of arena {arena!r} does not follow the last stored record {last} "
                "without a gap."
            )
        return None


def matches_token(digest: bytes, label: str, prefix_or_label: str) -> bool:
    """Return whether a token has this label, or a digest with this prefix of at least 8 digits."""
    given = prefix_or_label  # a shorter prefix could be the label of another token
    return label == given or (len(given) >= PREFIX and digest.hex().startswith(given.lower()))


def require_hook_capacity(hooks: int) -> None:
    """Raise ArenaError if an arena has the maximum number of webhooks."""
    if hooks >= MOST_HOOKS:
        raise ArenaError(
            "too-many", f"the arena has {hooks} webhooks, which is the maximum; delete one first."
        )
