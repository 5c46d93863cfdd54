"""What every store checks before it writes or forgets something."""

from driftduel.arena.problems import ArenaError
from driftduel.arena.stores.base import MOST_HOOKS, PREFIX, Append, FencedError, StoreError

__all__ = ["SequenceChecker", "matches_token", "require_hook_capacity"]


class SequenceChecker:
    """Checks that what is appended follows what is there, entry by entry.

    Parameters
    ----------
    lasts
        The place of the last record of every arena that exists.
    """

    def __init__(self, lasts: dict[str, int]) -> None:
        self.lasts = lasts
        self._failed: dict[str, Exception] = {}

    def check(self, entry: Append) -> Exception | None:
        """Count an entry in, or say why it cannot be written.

        After one that fails, all others of that arena do: by its writer's count they come later,
        and might fit where a record of somebody else has taken the place of the one that failed.
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
            return StoreError(f"there is no arena {arena!r}.")
        first = records[0].seq if records else last + 1
        if not records and upto is not None:  # a snapshot alone
            first = upto + 1
        if first <= last:
            return FencedError(
                f"record {first} of arena {arena!r} is there already: another process wrote it, "
                "and owns the arena now."
            )
        expected = range(last + 1, last + 1 + len(records))
        if first != expected.start or [record.seq for record in records] != list(expected):
            return StoreError(
                f"record {first} of arena {arena!r} and those with it do not follow its last one, "
                f"{last}, without a gap."
            )
        return None


def matches_token(digest: bytes, label: str, prefix_or_label: str) -> bool:
    """Tell whether a token is meant; fewer than eight digits might be a label of somebody's."""
    said = prefix_or_label
    return label == said or (len(said) >= PREFIX and digest.hex().startswith(said.lower()))


def require_hook_capacity(hooks: int) -> None:
    """Refuse one more webhook if an arena has as many as it can have."""
    if hooks >= MOST_HOOKS:
        raise ArenaError(
            "too-many", f"the arena has {hooks} webhooks, which is the maximum; delete one first."
        )
