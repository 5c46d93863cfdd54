"""Registry of policies by name, and construction from specs."""

import dis
import inspect
import re
from abc import ABC
from collections.abc import Callable
from functools import partial, wraps
from types import FunctionType
from typing import Any, TypedDict, Unpack
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike

from driftduel._internal.plugins import load_plugins
from driftduel.errors import DriftduelError
from driftduel.policies.base import KernelPolicy, Policy
from driftduel.specs import Entry, Factory, Registry, Spec, parameters_of

__all__ = [
    "POLICIES",
    "is_registered",
    "keep_parameters",
    "make_policy",
    "need_contract",
    "spec_name",
    "spec_of",
]


Wrapper = Callable[[Entry[Policy]], Entry[Policy]]
_CONTRACT_MODULES = ("driftduel.policies.wrapper", "driftduel.policies.base")


class PolicyRegistry(Registry[Policy]):
    """Policies by name; the instances store their constructor arguments in `parameters`."""

    def __init__(
        self, kind: str, context: tuple[str, ...], load_more: Callable[[], None] | None = None
    ) -> None:
        super().__init__(kind, context, load_more=load_more)
        self._prefixes: dict[str, Wrapper] = {}
        self._guests: WeakSet[type[Policy]] = WeakSet()

    def register(self, name: str) -> Callable[[Factory], Factory]:
        """Return a class decorator that registers a policy under `name`."""
        register = super().register(name)

        def decorate(policy: Factory) -> Factory:
            need_contract(policy)
            register(policy)
            policy.name = name  # type: ignore[attr-defined]
            keep_parameters(policy, self.context)
            return policy

        return decorate

    def admit(self, policy: type[Policy]) -> str:
        """Register a class that has no registered name yet, and return its name.

        The default is the class attribute `name`, or else the class name in lower case:
        ``MyPolicy`` becomes ``my-policy``. A redefinition of the same class, for example by running
        a notebook cell twice, replaces the earlier one.

        Raises
        ------
        DriftduelError
            If another class has the name, or a parameter cannot be written in a spec.
        """
        if self._is_registered(policy):
            return policy.name
        name = str(vars(policy).get("name", "")) or spec_name(policy.__name__)
        taken: Any = self._entries[name].factory if name in self._entries else None
        if taken is not None and _where(taken) != _where(policy):
            raise DriftduelError(
                f"the class {policy.__qualname__} cannot be registered as {name!r}: this policy "
                f"exists; give the class another `name`."
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
        """Return whether a class was registered by `admit` only."""
        return isinstance(policy, type) and policy in self._guests

    def _is_registered(self, policy: type[Policy]) -> bool:
        name = policy.name  # a subclass of a registered class inherits its name
        return bool(name) and name in self and self[name].factory is policy

    def _need_writable(self, policy: type[Policy]) -> None:
        """Raise DriftduelError if the type of a parameter is missing or not allowed in a spec."""
        try:
            kinds = {parameter.kind for parameter in parameters_of(policy, self.context)}
        except KeyError as error:
            raise DriftduelError(
                f"the parameter {error} of {policy.__qualname__} has no type; add one, such as "
                f"{error.args[0]}: float = 1."
            ) from None
        if not kinds <= {int, float, str, bool}:
            raise DriftduelError(
                f"the parameters of {policy.__qualname__} must be of the types int, float, str or "
                f"bool, so that a spec can hold them."
            )

    def open_prefix(self, prefix: str) -> Callable[[Wrapper], Wrapper]:
        """Return a decorator that registers a wrapper function for names ``prefix-NAME``.

        The function receives the registry entry of NAME and returns the entry of the composition.
        Compositions resolve by name but are not listed, because each policy has one.
        """

        def decorate(around: Wrapper) -> Wrapper:
            self._prefixes[prefix] = around
            return around

        return decorate

    def _resolve_prefix(self, name: object) -> tuple[Wrapper, str] | None:
        """Return the wrapper function and NAME for an unregistered ``prefix-NAME``, or None."""
        prefix, dash, inside = str(name).partition("-")
        around = self._prefixes.get(prefix) if dash and not super().__contains__(name) else None
        if around is None or inside.partition("-")[0] == prefix:
            return None
        return around, inside

    def __contains__(self, name: object) -> bool:
        if self._resolve_prefix(name) is None:
            return super().__contains__(name)
        try:
            self[str(name)]
        except DriftduelError:  # the wrapped policy does not exist, or does not qualify
            return False
        return True

    def __getitem__(self, name: str) -> Entry[Policy]:
        composed = self._resolve_prefix(name)
        if composed is None:
            return super().__getitem__(name)
        around, inside = composed
        return around(self[inside])


def _where(thing: Any) -> tuple[str, str]:
    """Return module and qualified name of an object; both are equal after a redefinition."""
    return str(thing.__module__), str(getattr(thing, "__qualname__", ""))


def spec_name(name: str) -> str:
    """Return the default spec name for the name of a class.

    Examples
    --------
    >>> spec_name("MyPolicy"), spec_name("DTSPlus"), spec_name("_Own2")
    ('my-policy', 'dts-plus', 'own2')
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+", name)
    return "-".join(parts).lower() or "own"


def need_contract(policy: Any) -> None:
    """Raise DriftduelError if an attribute of a class hides a method or property of `Policy`.

    ``self.stage = 1`` would hide `Policy.stage`, and the first call of `info` would fail with an
    unrelated error message.
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
    """Return the functions of a class attribute that take the instance as first argument."""
    parts = [value.fget, value.fset] if isinstance(value, property) else [inspect.unwrap(value)]
    return [part for part in parts if isinstance(part, FunctionType)]


def _attributes_set(function: FunctionType) -> set[str]:
    """Return the names of attributes that a function assigns on its first argument."""
    code = function.__code__
    if not code.co_argcount:
        return set()
    found, loaded = set(), None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_ATTR" and loaded == code.co_varnames[0]:
            found.add(str(instruction.argval))
        names = instruction.argval if instruction.opname.startswith("LOAD_FAST") else None
        # Python 3.13 merges two loads into one instruction; its argument is a tuple then.
        loaded = names[-1] if isinstance(names, tuple) else names
    return found


def keep_parameters(policy: Any, context: tuple[str, ...]) -> None:
    """Wrap the constructor of a class: validate the arguments and store them in `parameters`.

    The wrapper is installed by the registry so that no author can omit it: a policy without
    `parameters` would be saved without them and loaded with the default values.
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
        if "parameters" not in vars(self):  # otherwise a subclass has already stored its own
            self.parameters = {key.name: bound.arguments[key.name] for key in keys}
        init(*bound.args, **bound.kwargs)

    policy.__init__ = build


POLICIES = PolicyRegistry(
    "policy", context=("arms", "rng"), load_more=partial(load_plugins, "driftduel.policies")
)


def is_registered(policy: Any) -> bool:
    """Return whether name and class of a policy agree with the registry, wrapped ones included."""
    if policy.name not in POLICIES:
        return False
    factory: Any = POLICIES[policy.name].factory
    if hasattr(factory, "wrapper"):
        inside = getattr(policy, "base", None)
        return type(policy) is factory.wrapper and (inside is None or is_registered(inside))
    return factory is type(policy)


def spec_of(policy: Policy) -> str:
    """Return the spec string of a policy: its name, and parameters that differ from the default.

    Examples
    --------
    >>> spec_of(make_policy("dts:alpha=0.7", arms=3))
    'dts:alpha=0.7'
    """
    name = policy.name or spec_name(type(policy).__name__)
    keys = POLICIES[name].parameters if name in POLICIES else ()
    defaults = {parameter.name: parameter.default for parameter in keys}
    changed = {
        key: value
        for key, value in policy.parameters.items()
        if value is not None and value != defaults.get(key)
    }
    return str(Spec(name, changed))


class PriorKnowledge(TypedDict, total=False):
    """Facts of a world that `make_policy` accepts as keyword arguments, beside `horizon`."""

    switches: int
    """How often the Condorcet winner changes."""
    variation: float
    """The total variation V of the preferences."""
    at: str
    """The rounds of the changes, joined by ``+``."""
    features: int
    """The number of numbers of a request."""
    one_hot: bool
    """Whether they are one group of 0/1 indicators."""
    slate: int
    """The largest number of options shown at once."""


def make_policy(
    spec: str | Spec,
    arms: int,
    seed: int | np.random.SeedSequence | np.random.Generator = 0,
    horizon: int | None = None,
    *,
    order: str | None = None,
    ties: str | None = None,
    mode: str | None = None,
    prices: ArrayLike | None = None,
    **known: Unpack[PriorKnowledge],
) -> Policy:
    """Return the policy that a spec describes.

    Parameters
    ----------
    spec
        ``name:key=value,key=value``; `POLICIES` lists the names and their keys.
    arms
        The number of arms K.
    seed
        Seed of the generator, or a generator. Default 0.
    horizon
        The number of rounds T, for policies that need it and whose spec does not set it.
    order, ties
        The order of learning and the handling of ties: see `Policy.configure`.
    mode
        ``serve``: an arm may be shown alone (`Duel.alone`). ``panel``: always two different arms.
    prices
        (K,) the price of each arm in log-odds, for policies that take prices.
    known
        Values of other prior knowledge (``switches``, ``variation``, ``at``), used like `horizon`.

    Raises
    ------
    DriftduelError
        If the name or a key does not exist, or a value is missing or out of range.

    Examples
    --------
    >>> make_policy("anaconda:constant=0.5", arms=5, horizon=1000)
    make_policy('anaconda:horizon=1000,constant=0.5', arms=5)
    """
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {**known} if horizon is None else {**known, "horizon": horizon}
    policy = POLICIES.build(spec, arms=arms, rng=rng, **values)
    policy.configure(order=order, ties=ties, mode=mode, prices=prices)
    return policy
