"""What an arena is, said once when it is opened: the first record of its log."""

from collections.abc import Sequence
from typing import Any

import msgspec

from driftduel.arena.problems import ArenaError
from driftduel.errors import DriftduelError
from driftduel.policies import POLICIES, make_policy
from driftduel.policies.ledger import ORDERS, TIES
from driftduel.policies.modes import MODES
from driftduel.specs import Spec

__all__ = ["MOST_OPTIONS", "LaneSettings", "Settings", "settings_of"]

MOST_OPTIONS = 200
_MOST_LANES = 8
_DAY = 86_400.0
_HIGHEST_SEED = 2**63 - 1


class LaneSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy, and how many voters of all it gets."""

    spec: str
    weight: int = 1


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that decides what an arena does; it never changes.

    Times are in seconds.
    """

    lanes: tuple[LaneSettings, ...]
    """The policies; the first one leads, the others are compared with it."""
    mode: str = "panel"
    """``panel``: two different options, always. ``serve``: one may be shown alone."""
    order: str = "asked"
    """Order in which answers are learned: that of asking, or that of arrival."""
    ties: str | None = None
    """``skip``, ``coin``, or as each policy wants it."""
    seed: int = 0
    grace: float = 5.0
    """How long a vote can be undone before any policy hears of it."""
    lease: float = 600.0
    """How long a duel may stay open."""
    votes_a_day: int = 5
    """Votes that count, of one voter on one pair in one day (UTC)."""
    most_open: int = 10_000
    """Duels that may be open at once."""
    most_open_each: int = 20
    """Duels that one voter may have open at once."""
    origins: tuple[str, ...] = ()
    """Whose pages may ask and vote with a token: ``https://example.org``."""


def settings_of(
    options: int,
    *,
    policy: str = "king",
    policies: Sequence[tuple[str, int] | str] | None = None,
    mode: str = "panel",
    order: str | None = None,
    **others: Any,
) -> Settings:
    """Check what an arena is to be, and complete it.

    Parameters
    ----------
    options
        How many options it begins with.
    policy
        Who chooses the duels.
    policies
        Several of them side by side, each with its weight, in place of `policy`.
    mode
        ``panel`` or ``serve``.
    order
        Order of learning; None: that of asking for panels, where a delay may depend on the
        answer, and that of arrival else.
    others
        The other fields of `Settings`.
    """
    if not 2 <= options <= MOST_OPTIONS:
        raise ArenaError(
            "bad-request", f"an arena has from 2 to {MOST_OPTIONS} options, not {options}."
        )
    lanes = [(each, 1) if isinstance(each, str) else each for each in policies or [policy]]
    if len(lanes) > _MOST_LANES:
        raise ArenaError(
            "bad-request", f"an arena has at most {_MOST_LANES} policies, not {len(lanes)}."
        )
    order = order or ("asked" if mode == "panel" else "arrival")
    kept = [LaneSettings(able_to_change(spec, options), weight) for spec, weight in lanes]
    try:
        made = msgspec.convert(
            {"lanes": msgspec.to_builtins(kept), "mode": mode, "order": order, **others}, Settings
        )
    except msgspec.ValidationError as error:
        raise ArenaError("bad-request", f"the arena's settings are not right: {error}.") from None
    _check(made)
    for lane in kept:  # whatever a policy has against all this, it says now
        make_policy(lane.spec, options, order=made.order, ties=made.ties, mode=made.mode)
    return made


def able_to_change(spec: str, arms: int) -> str:
    """Return a spec whose policy lets options come and go, if need be by starting anew."""
    policy = make_policy(spec, arms)
    if policy.can_change:
        return spec
    parsed = Spec.parse(spec)
    anew = Spec(f"anew-{parsed.name}", parsed.values)
    if anew.name not in POLICIES:
        raise DriftduelError(f"the policy {spec!r} cannot let options come and go.")
    return str(anew)


def _check(settings: Settings) -> None:
    """Refuse what no arena can be."""
    choices = (("mode", MODES), ("order", ORDERS), ("ties", (*TIES, None)))
    for key, known in choices:
        value = getattr(settings, key)
        if value not in known:
            words = " or ".join(str(each) for each in known if each)
            raise ArenaError("bad-request", f"{key}={value!r} must be {words}.")
    ranges = (
        ("grace", 0.0, 3600.0),
        ("lease", 1.0, 30 * _DAY),
        ("votes_a_day", 1, 1_000_000),
        ("most_open", 1, 1_000_000),
        ("most_open_each", 1, 1_000_000),
        ("seed", 0, _HIGHEST_SEED),
    )
    for key, low, high in ranges:
        value = getattr(settings, key)
        if not low <= value <= high:
            raise ArenaError("bad-request", f"{key}={value!r} must be from {low:g} to {high:g}.")
    for lane in settings.lanes:
        if not 1 <= lane.weight <= 1000:
            raise ArenaError(
                "bad-request", f"weight={lane.weight} of {lane.spec!r} must be from 1 to 1000."
            )
