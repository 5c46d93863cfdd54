"""Policies by name."""

import dis
import inspect
import re
from abc import ABC
from collections.abc import Callable
from functools import partial, wraps
from types import FunctionType
from typing import Any
from weakref import WeakSet

import numpy as np

from driftduel._imports import load_plugins
from driftduel.errors import DriftduelError
from driftduel.policies.base import KernelPolicy, Policy
from driftduel.specs import Entry, Factory, Registry, Spec, parameters_of

__all__ = [
    "POLICIES",
    "is_registered",
    "keep_parameters",
    "make_policy",
    "need_contract",
    "spec_of",
    "spoken",
]


Around = Callable[[Entry[Policy]], Entry[Policy]]
_CONTRACT_MODULES = ("driftduel.policies.around", "driftduel.policies.base")


class _Policies(Registry[Policy]):
    """Policies by name; each keeps what it was built with, so that it can be built again."""

    def __init__(
        self, kind: str, context: tuple[str, ...], load_more: Callable[[], None] | None = None
    ) -> None:
        super().__init__(kind, context, load_more=load_more)
        self._prefixes: dict[str, Around] = {}
        self._guests: WeakSet[type[Policy]] = WeakSet()

    def register(self, name: str) -> Callable[[Factory], Factory]:
        """Register the decorated class of policies under `name`."""
        register = super().register(name)

        def decorate(policy: Factory) -> Factory:
            need_contract(policy)
            register(policy)
            policy.name = name  # type: ignore[attr-defined]
            keep_parameters(policy, self.context)
            return policy

        return decorate

    def admit(self, policy: type[Policy]) -> str:
        """Register a class that nobody has registered, and return its name.

        That is the `name` it gives itself, or else its own in small letters: ``MyPolicy`` becomes
        ``my-policy``. A class that is written anew, as in a notebook, takes the place of the old.
        """
        if self._is_registered(policy):
            return policy.name
        name = str(vars(policy).get("name", "")) or spoken(policy.__name__)
        taken: Any = self._entries[name].factory if name in self._entries else None
        if taken is not None and _where(taken) != _where(policy):
            raise DriftduelError(
                f"the class {policy.__qualname__} would be the policy {name!r}, and there is one; "
                f"give the class another `name`."
            )
        if policy not in self._guests:
            need_contract(policy)
            self._need_writable(policy)
            self.remove(name)
            self.register(name)(policy)
            self._guests.add(policy)
        elif taken is not policy:
            self.remove(name)
            super().register(name)(policy)
        return name

    def is_guest(self, policy: object) -> bool:
        """Tell whether a class was registered by `admit` only."""
        return isinstance(policy, type) and policy in self._guests

    def _is_registered(self, policy: type[Policy]) -> bool:
        name = policy.name  # a subclass of a registered class has its name, too
        return bool(name) and name in self and self[name].factory is policy

    def _need_writable(self, policy: type[Policy]) -> None:
        """Refuse a class with a parameter that cannot be written in a spec."""
        try:
            kinds = {parameter.kind for parameter in parameters_of(policy, self.context)}
        except KeyError as error:
            raise DriftduelError(
                f"the parameter {error} of {policy.__qualname__} has no type; write one, such as "
                f"{error.args[0]}: float = 1."
            ) from None
        if not kinds <= {int, float, str, bool}:
            raise DriftduelError(
                f"the parameters of {policy.__qualname__} must be of the types int, float, str or "
                f"bool, so that a spec can hold them."
            )

    def open_prefix(self, prefix: str) -> Callable[[Around], Around]:
        """Let ``prefix-NAME`` be built by the decorated function from the entry of any NAME.

        Such names are not listed: there is one for each that is.
        """

        def decorate(around: Around) -> Around:
            self._prefixes[prefix] = around
            return around

        return decorate

    def _inside(self, name: object) -> tuple[Around, str] | None:
        """Return who builds a name that is not registered, and what it is around."""
        prefix, dash, inside = str(name).partition("-")
        around = self._prefixes.get(prefix) if dash and not super().__contains__(name) else None
        if around is None or inside.partition("-")[0] == prefix:
            return None
        return around, inside

    def __contains__(self, name: object) -> bool:
        if self._inside(name) is None:
            return super().__contains__(name)
        try:
            self[str(name)]
        except DriftduelError:  # the wrapped policy does not exist, or does not qualify
            return False
        return True

    def __getitem__(self, name: str) -> Entry[Policy]:
        composed = self._inside(name)
        if composed is None:
            return super().__getitem__(name)
        around, inside = composed
        return around(self[inside])


def _where(thing: Any) -> tuple[str, str]:
    """Return where something is defined, which stays when it is written anew."""
    return str(thing.__module__), str(getattr(thing, "__qualname__", ""))


def spoken(name: str) -> str:
    """Write the name of a class as names are written in specs.

    Examples
    --------
    >>> spoken("MyPolicy"), spoken("DTSPlus"), spoken("_Own2")
    ('my-policy', 'dts-plus', 'own2')
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+", name)
    return "-".join(parts).lower() or "own"


def need_contract(policy: Any) -> None:
    """Refuse a class with an attribute that hides a method or a property of `Policy`.

    ``self.stage = 1`` would hide `Policy.stage`, and the first `info` would fail far from here.
    """
    mine = [
        kind
        for kind in policy.__mro__
        if kind not in (ABC, object) and kind.__module__ not in _CONTRACT_MODULES
    ]
    contract = {
        name: kind
        for kind in (Policy, KernelPolicy)
        if issubclass(policy, kind)
        for name, value in vars(kind).items()
        if isinstance(value, FunctionType | property) and not name.startswith("__")
    }
    for kind in mine:
        for name, value in vars(kind).items():
            if name in contract and not (callable(value) or hasattr(value, "__get__")):
                raise _hides(kind, f"{name} = {value!r}", contract[name], name)
            for function in _functions(value):
                for hidden in sorted(_attributes_set(function) & contract.keys()):
                    raise _hides(kind, f"self.{hidden} = ...", contract[hidden], hidden)


def _hides(kind: type, text: str, base: type, name: str) -> DriftduelError:
    return DriftduelError(
        f"the class {kind.__qualname__} sets `{text}`, which would hide {base.__name__}.{name}; "
        f"choose another name for the attribute."
    )


def _functions(value: Any) -> list[FunctionType]:
    """Return the functions with an instance as their first argument behind a class attribute."""
    parts = [value.fget, value.fset] if isinstance(value, property) else [inspect.unwrap(value)]
    return [part for part in parts if isinstance(part, FunctionType)]


def _attributes_set(function: FunctionType) -> set[str]:
    """Return the attributes of its first argument that a function assigns to."""
    code = function.__code__
    if not code.co_argcount:
        return set()
    found, loaded = set(), None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_ATTR" and loaded == code.co_varnames[0]:
            found.add(str(instruction.argval))
        names = instruction.argval if instruction.opname.startswith("LOAD_FAST") else None
        loaded = names[-1] if isinstance(names, tuple) else names  # Python 3.13 loads two at a time
    return found


def keep_parameters(policy: Any, context: tuple[str, ...]) -> None:
    """Let a class check what its policies are built with, and keep it in their `parameters`.

    It is done here and not by each author, who would forget it: a policy that does not know its
    parameters is saved without them and loaded with the defaults.
    """
    keys = tuple(parameters_of(policy, context))
    init = policy.__init__
    signature = inspect.signature(init)

    @wraps(init)
    def build(self: Policy, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        owner = self.name or type(self).__name__
        for key in keys:
            bound.arguments[key.name] = key.read(bound.arguments[key.name], owner)
        if "parameters" not in vars(self):  # else a class made out of this one was faster
            self.parameters = {key.name: bound.arguments[key.name] for key in keys}
        init(*bound.args, **bound.kwargs)

    policy.__init__ = build


POLICIES = _Policies(
    "policy", context=("arms", "rng"), load_more=partial(load_plugins, "driftduel.policies")
)


def is_registered(policy: Any) -> bool:
    """Tell whether a policy is what its name says, all the way inside a composition."""
    if policy.name not in POLICIES:
        return False
    factory: Any = POLICIES[policy.name].factory
    if hasattr(factory, "wrapper"):
        inside = getattr(policy, "base", None)
        return type(policy) is factory.wrapper and (inside is None or is_registered(inside))
    return factory is type(policy)


def spec_of(policy: Policy) -> str:
    """Return a policy's name, and the keys that are not as they are by default.

    Examples
    --------
    >>> spec_of(make_policy("dts:alpha=0.7", arms=3))
    'dts:alpha=0.7'
    """
    name = policy.name or spoken(type(policy).__name__)
    keys = POLICIES[name].parameters if name in POLICIES else ()
    defaults = {parameter.name: parameter.default for parameter in keys}
    changed = {
        key: value
        for key, value in policy.parameters.items()
        if value is not None and value != defaults.get(key)
    }
    return str(Spec(name, changed))


def make_policy(
    spec: str | Spec,
    arms: int,
    seed: int | np.random.SeedSequence | np.random.Generator = 0,
    horizon: int | None = None,
    *,
    order: str | None = None,
    ties: str | None = None,
    mode: str | None = None,
    **known: Any,
) -> Policy:
    """Build the policy that a spec describes.

    Parameters
    ----------
    spec
        ``name:key=value,key=value``; `POLICIES` lists the names and their keys.
    arms
        The number of arms K.
    seed
        What its randomness comes from.
    horizon
        The number of rounds, for policies that want to know it and whose spec does not say.
    order, ties
        How answers are to be learned, where the policy has a choice: see `Policy.configure`.
    mode
        ``serve``: an arm may be shown alone (`Duel.alone`). ``panel``: two different arms, always.
    known
        Whatever else a policy may be told (``switches``, ``variation``, ``at``), likewise.

    Examples
    --------
    >>> make_policy("anaconda:constant=0.5", arms=5, horizon=1000)
    make_policy('anaconda:horizon=1000,constant=0.5', arms=5)
    """
    rng = np.random.default_rng(seed)
    if horizon is not None:
        known["horizon"] = horizon
    policy = POLICIES.build(spec, arms=arms, rng=rng, **known)
    policy.configure(order=order, ties=ties, mode=mode)
    return policy
