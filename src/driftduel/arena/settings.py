"""Settings of an arena: parameters that are fixed at its creation, the first record of its log."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

import msgspec

from driftduel.arena.problems import ArenaError
from driftduel.arena.slate_votes import FEEDBACK, MOST_SHOW
from driftduel.arena.tags import check_tag_text
from driftduel.errors import DriftduelError
from driftduel.policies import (
    MODES,
    ORDERS,
    POLICIES,
    TIES,
    RequestPolicy,
    check_coefficients,
    make_policy,
)
from driftduel.requests import Feature, TypedFeatures
from driftduel.specs import Spec

__all__ = [
    "CLAIMS", "EVIDENCE", "MOST_OPTIONS", "ArenaSettings", "Settings", "plain_settings",
    "settings_of",
]  # fmt: skip

CLAIMS = ("voters", "judges")
EVIDENCE = ("all", "people")
MOST_OPTIONS = 200
_DAY = 86_400.0
_HIGHEST_SEED = 2**63 - 1
_MOST_VOTES = 1_000_000


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of an arena; they never change, so that the log can be replayed.

    Times are in seconds.
    """

    policy: str
    """The spec of the policy that chooses the duels."""
    mode: str = "panel"
    """``panel``: two different options, always. ``serve``: one may be shown alone."""
    order: str = "asked"
    """Order in which answers are learned: that of asking, or that of arrival."""
    ties: str | None = None
    """``skip`` or ``coin``; None: the default of the policy."""
    claim: str = "voters"
    """Population of the statements. ``voters``: a voter's first vote on a pair in each stretch of
    evidence counts. ``judges``: every vote counts, for a fixed panel or automatic judges."""
    seed: int = 0
    grace: float = 5.0
    """Time in which a vote can be undone before the policy learns it."""
    lease: float = 60.0
    """Time for which an open duel delays later votes, unless its lease is renewed."""
    votes_a_day: int = 50
    """Maximum number of votes of one voter on one pair in one day (UTC); the default is a million
    for judges."""
    most_open: int = 10_000
    """Maximum number of open duels; one more evicts the oldest."""
    most_open_each: int = 20
    """Maximum number of open duels of one voter; one more evicts the voter's oldest."""
    origins: tuple[str, ...] = ()
    """Sites with pages that may use a token here: ``https://example.org``; none by default."""
    items: bool = False
    """Whether options are compared on items: prompts with one answer per option."""
    balance: str | None = None
    """A tag of the items whose values are shown equally often on each pair; None by default."""
    evidence: str = "all"
    """Votes that are evidence: ``all``, or ``people`` without those with the tag ``judge``."""
    features: tuple[Feature, ...] = ()
    """The features of a request for a duel; none by default."""
    show: int = 2
    """Number of options shown at once; with 3 or more, duels are slates."""
    feedback: str = "pick"
    """Answer to a slate: ``pick`` of one option, or ``ranking`` of some or all."""

    @property
    def has_slates(self) -> bool:
        """Whether three or more options are shown at once."""
        return self.show > 2


class ArenaSettings(TypedDict, total=False):
    """The attributes of `Settings` as keyword arguments, which all have a default."""

    policy: str
    mode: str
    order: str | None
    ties: str | None
    claim: str
    seed: int
    grace: float
    lease: float
    votes_a_day: int
    most_open: int
    most_open_each: int
    origins: Sequence[str]
    balance: str | None
    evidence: str
    features: Sequence[str | Mapping[str, Any] | Feature]
    show: int
    feedback: str


def settings_of(
    options: int, *, items: bool = False, priced: bool = False, **settings: Unpack[ArenaSettings]
) -> Settings:
    """Validate the settings of a new arena, and fill in the defaults.

    Parameters
    ----------
    options
        Number of options at the start.
    items
        Whether the options are compared on items.
    priced
        Whether options have prices.
    settings
        The attributes of `Settings`; a feature may be a text, see `driftduel.requests`. Default
        policy: ``king``, with features or prices ``adaptive-logistic``. Default order: that of
        asking for panels, where a delay may depend on the answer, and the order of arrival
        otherwise.

    Raises
    ------
    ArenaError
        ``bad-request``, if a value is not valid.
    DriftduelError
        If the policy does not support the settings.
    """
    if not 2 <= options <= MOST_OPTIONS:
        raise ArenaError(
            "bad-request",
            f"the number of options is {options}; it must be from 2 to {MOST_OPTIONS}.",
        )
    features = TypedFeatures.of(settings.get("features", ()))
    default = "adaptive-logistic" if features or priced else "king"
    values: dict[str, object] = {"policy": default, "mode": "panel", "items": items}
    if settings.get("claim") == "judges":  # every vote of a judge counts
        values["votes_a_day"] = _MOST_VOTES
    values |= settings
    values["order"] = values.get("order") or ("asked" if values["mode"] == "panel" else "arrival")
    spec = with_slates(str(values["policy"]), values.get("show", 2), features)
    values["policy"] = with_dynamic_options(with_features(spec, options, features), options)
    values["features"] = msgspec.to_builtins(features.features)
    try:
        made = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise ArenaError("bad-request", f"the arena's settings are not valid: {error}.") from None
    _check(made)
    # A policy that does not support these settings is refused here, before the arena is created.
    policy = make_policy(made.policy, options, order=made.order, ties=made.ties, mode=made.mode)
    if priced and not isinstance(policy, RequestPolicy):
        raise ArenaError(
            "bad-request",
            f"policy {made.policy!r:.80} takes no prices; use policy='adaptive-logistic'.",
        )
    return made


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Return settings as plain values, without those of slates for an arena with duels.

    The log of an arena with duels is then the one that earlier versions write.
    """
    plain: dict[str, Any] = msgspec.to_builtins(settings)
    if not settings.has_slates:
        del plain["show"], plain["feedback"]
    return plain


def with_slates(spec: str, show: Any, features: TypedFeatures) -> str:
    """Return the spec of a policy that shows this many options at once."""
    if isinstance(show, bool) or not isinstance(show, int) or not 2 <= show <= MOST_SHOW:
        raise ArenaError(
            "bad-request", f"show={show!r:.40} must be a whole number from 2 to {MOST_SHOW}."
        )
    parsed = Spec.parse(spec)
    if "slate" in parsed.values:
        raise ArenaError(
            "bad-request", f"policy {spec!r:.80}: leave out slate=, and pass show= instead."
        )
    if show == 2:
        return spec
    if features:
        raise ArenaError(
            "bad-request", f"show={show} does not support features; leave them out, or use show=2."
        )
    known = {each.name for each in POLICIES[parsed.name].parameters}
    if "slate" not in known:
        filled = f"slate-{parsed.name}"
        other = f" or {filled!r}" if filled in POLICIES else ""
        raise ArenaError(
            "bad-request",
            f"policy {spec!r:.80} cannot show {show} options at once; use policy='king'{other}, or "
            "show=2.",
        )
    return str(Spec(parsed.name, {**parsed.values, "slate": show}))


def with_features(spec: str, options: int, features: TypedFeatures) -> str:
    """Return the spec of a policy for requests with these features.

    A policy that takes no requests ignores the features; they are in the log for evaluations.
    """
    parsed, policy = Spec.parse(spec), make_policy(spec, options)
    if parsed.values.keys() & {"features", "one_hot"} or policy.request_shape.features:
        raise ArenaError(
            "bad-request",
            f"policy {spec!r:.80}: leave out features= and one_hot=; they follow from the features "
            "of the arena.",
        )
    if not features:
        return spec
    check_coefficients(options, features.shape)
    if not isinstance(policy, RequestPolicy):
        return spec
    more: dict[str, Any] = {"features": features.shape.features}
    if features.shape.one_hot:
        more["one_hot"] = "true"
    return str(Spec(parsed.name, {**parsed.values, **more}))


def with_dynamic_options(spec: str, arms: int) -> str:
    """Return a spec of a policy that supports joining and leaving options.

    A policy without that support is wrapped in one that restarts when the options change.
    """
    policy = make_policy(spec, arms)
    if policy.can_change:
        return spec
    parsed = Spec.parse(spec)
    anew = Spec(f"anew-{parsed.name}", parsed.values)
    if anew.name not in POLICIES:
        raise DriftduelError(
            f"policy {spec!r} does not support options that join or leave; choose another one."
        )
    return str(anew)


def _check(settings: Settings) -> None:
    """Raise ArenaError if the value of an attribute is outside its range or choices."""
    choices = (
        ("mode", MODES),
        ("order", ORDERS),
        ("ties", (*TIES, None)),
        ("claim", CLAIMS),
        ("evidence", EVIDENCE),
        ("feedback", FEEDBACK),
    )
    for key, known in choices:
        value = getattr(settings, key)
        if value not in known:
            words = " or ".join(str(each) for each in known if each)
            raise ArenaError("bad-request", f"{key}={value!r} must be {words}.")
    if settings.items and settings.mode != "panel":
        raise ArenaError(
            "bad-request", f"mode={settings.mode!r} does not support items; use mode='panel'."
        )
    if settings.balance is not None:
        check_tag_text(settings.balance, "balance tag")
        if not settings.items:
            raise ArenaError("bad-request", "a balance tag needs items; add items=True.")
    if settings.feedback != "pick" and not settings.has_slates:
        raise ArenaError(
            "bad-request", f"feedback={settings.feedback!r} needs show=3 or more options."
        )
    ranges = (
        ("grace", 0.0, 3600.0),
        ("lease", 1.0, 30 * _DAY),
        ("votes_a_day", 1, _MOST_VOTES),
        ("most_open", 1, 1_000_000),
        ("most_open_each", 1, 1_000_000),
        ("seed", 0, _HIGHEST_SEED),
    )
    for key, low, high in ranges:
        value = getattr(settings, key)
        if not low <= value <= high:
            raise ArenaError("bad-request", f"{key}={value!r} must be from {low:g} to {high:g}.")
