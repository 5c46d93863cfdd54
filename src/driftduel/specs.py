"""Write a world or a policy as one short string: ``name:key=value,key=value``.

A registry maps names to factories. The factory's signature is the single source of truth: keys,
types, defaults, ranges and one line of help are read from its annotations, so that the command
line, TOML files, error messages and the documentation cannot disagree.
"""

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from driftduel.errors import DriftduelError

__all__ = [
    "MOST_NUMBERS", "Choice", "Entry", "Parameter", "Range", "Registry", "Spec", "near",
    "need_room", "parameters_of",
]  # fmt: skip

Built = TypeVar("Built")
Factory = TypeVar("Factory", bound=Callable[..., Any])
# What can be computed with: squares and products of such numbers are still numbers, and not 0.
_SMALLEST, _LARGEST = 1e-100, 1e100
_LARGEST_WHOLE = 10**18
MOST_NUMBERS = 100_000_000
"""What a world may hold at once: 800 MB."""
_REQUIRED = inspect.Parameter.empty
# A comma separates keys only where a key follows it, so that file names may contain commas.
_KEYS = re.compile(r",(?=\s*[\w-]+\s*=)")
_NAME = re.compile(r"[A-Za-z][\w-]*")


@dataclass(frozen=True)
class Range:
    """Allow numbers from `low` to `high`, the ends included unless open: both, or one of them.

    Numbers that cannot be computed with (infinite, or in size beyond 1e100 or 10^18 for whole ones)
    are allowed only up to a `high` of that kind, or if `infinite`.
    """

    low: float = -math.inf
    high: float = math.inf
    open: bool = False
    open_low: bool = False
    open_high: bool = False
    infinite: bool = False

    def __contains__(self, value: float) -> bool:
        if self.open:
            return self.low < value < self.high
        if self.open_low:
            return self.low < value <= self.high
        if self.open_high:
            return self.low <= value < self.high
        return self.low <= value <= self.high

    def __str__(self) -> str:
        if math.isinf(self.high):
            return f"{'above' if self.open else 'at least'} {self.low:g}"
        if self.open_low:
            return f"above {self.low:g} and at most {self.high:g}"
        if self.open_high:
            return f"at least {self.low:g} and below {self.high:g}"
        between = f"{self.low:g} and {self.high:g}"
        return f"strictly between {between}" if self.open else f"between {between}"


@dataclass(frozen=True)
class Choice:
    """Allow one of a few words."""

    words: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.words

    def __str__(self) -> str:
        return "one of " + ", ".join(self.words)


@dataclass(frozen=True)
class Spec:
    """A name and its keys, as written; nothing is looked up yet."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: "str | Spec") -> "Spec":
        """Read ``name:key=value,key=value``.

        Examples
        --------
        >>> Spec.parse("geometric-btl:arms=10,phases=4").values["phases"]
        '4'
        """
        if isinstance(text, Spec):
            return text
        name, _, rest = text.strip().partition(":")
        if not _NAME.fullmatch(name):
            raise DriftduelError(
                f"{text!r} is not a spec; write name:key=value,key=value, "
                f"for example geometric-btl:arms=10,phases=4."
            )
        values: dict[str, Any] = {}
        for item in _KEYS.split(rest) if rest.strip() else ():
            key, equals, value = (part.strip() for part in item.partition("="))
            if not equals or not key or not value:
                raise DriftduelError(f"{item!r} in {text!r} is not of the form key=value.")
            key = key.replace("-", "_")
            if key in values:
                raise DriftduelError(f"{text!r} gives {key} twice.")
            values[key] = value
        return cls(name, values)

    def __str__(self) -> str:
        keys = ",".join(f"{key}={_write(value)}" for key, value in self.values.items())
        return f"{self.name}:{keys}" if keys else self.name


@dataclass(frozen=True)
class Parameter:
    """One key of a spec: its type, default, what is allowed, and one line of help."""

    name: str
    kind: type
    default: Any
    allowed: Range | Choice | None
    help: str

    @property
    def required(self) -> bool:
        """Tell whether the key has no default."""
        return self.default is _REQUIRED

    def read(self, value: Any, owner: str) -> Any:
        """Turn what was written into a value of the right type and range, or say what is."""
        if value is None or (value == "none" and self.default is None):
            if self.default is None:
                return None
            raise self._wrong(value, owner)
        try:
            result = _READERS[self.kind](value)
        except (ValueError, TypeError, OverflowError):
            raise self._wrong(value, owner) from None
        if self.allowed is not None and result not in self.allowed:
            raise self._wrong(value, owner)
        if isinstance(result, int | float) and not isinstance(result, bool):
            self._need_bearable(result, value, owner)
        return result

    def _need_bearable(self, number: float, value: Any, owner: str) -> None:
        """Refuse what a machine's numbers cannot hold, or only until somebody squares it."""
        allowed = self.allowed if isinstance(self.allowed, Range) else Range()
        if isinstance(number, int):
            if not math.isinf(allowed.high) or abs(number) <= _LARGEST_WHOLE:
                return
            raise self._wrong(value, owner, f", in size at most {_LARGEST_WHOLE:,}")
        if math.isinf(number):
            if not allowed.infinite:
                raise self._wrong(value, owner, ", and finite")
            return
        most = _LARGEST if math.isinf(allowed.high) else max(_LARGEST, allowed.high)
        if number != 0 and not _SMALLEST <= abs(number) <= most:
            sizes = f", in size between {_SMALLEST:g} and {most:g}"
            raise self._wrong(value, owner, sizes)

    def _wrong(self, value: Any, owner: str, more: str = "") -> DriftduelError:
        words = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}
        expected = words[self.kind]
        if isinstance(self.allowed, Choice):
            expected = str(self.allowed)
        elif self.allowed is not None:
            expected = f"{expected} {self.allowed}"
        return DriftduelError(f"{owner}: {self.name}={_short(value)} must be {expected}{more}.")


@dataclass(frozen=True)
class Entry(Generic[Built]):
    """A registered factory and what its signature says."""

    name: str
    factory: Callable[..., Built]
    parameters: tuple[Parameter, ...]
    summary: str


class Registry(Generic[Built]):
    """Names of one kind of thing, and how to build each from a spec.

    Parameters
    ----------
    kind
        What is registered, as it reads in an error message: ``"world"``.
    context
        Parameters of the factories that come from whoever builds, never from a spec.
    around
        Changes what was built, its first argument, as the keys that it has besides say: every spec
        may have them. One that does not, or has its default, is as it was without such keys.
    """

    def __init__(
        self,
        kind: str,
        context: tuple[str, ...] = (),
        around: Callable[..., Built] | None = None,
    ) -> None:
        self.kind = kind
        self.context = context
        self._around = around
        self.shared: tuple[Parameter, ...] = ()
        """The keys of `around`, which every spec may have besides its own."""
        if around is not None:
            built = next(iter(inspect.signature(around).parameters))
            self.shared = tuple(parameters_of(around, (built,)))
        self._entries: dict[str, Entry[Built]] = {}

    def register(self, name: str) -> Callable[[Factory], Factory]:
        """Register the decorated factory under `name`."""

        def decorate(factory: Factory) -> Factory:
            summary = (inspect.getdoc(factory) or "").partition("\n")[0]
            self.add(Entry(name, factory, tuple(parameters_of(factory, self.context)), summary))
            return factory

        return decorate

    def add(self, entry: Entry[Built]) -> None:
        """Register a factory whose parameters are known."""
        if entry.name in self._entries:
            raise DriftduelError(f"there is already a {self.kind} named {entry.name!r}.")
        self._entries[entry.name] = entry

    def alias(self, name: str, of: str) -> None:
        """Let an entry answer to a second name."""
        self.add(replace(self[of], name=name))

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[Built]]:
        return iter(self._entries.values())

    def __getitem__(self, name: str) -> Entry[Built]:
        if name not in self._entries:
            raise DriftduelError(
                f"there is no {self.kind} named {name!r}; {near(name, self._entries)}."
            )
        return self._entries[name]

    def resolve(self, spec: str | Spec) -> Spec:
        """Check a spec and fill in the defaults of its own keys, in the order of the signature."""
        spec = Spec.parse(spec)
        entry = self[spec.name]
        own = {parameter.name: parameter for parameter in entry.parameters}
        known = {**{parameter.name: parameter for parameter in self.shared}, **own}
        for key in spec.values:
            if key not in known:
                raise DriftduelError(
                    f"{self.kind} {spec.name!r} has no key {key!r}; {near(key, known)}."
                )
        values = {}
        for parameter in entry.parameters:
            if parameter.name in spec.values:
                values[parameter.name] = parameter.read(spec.values[parameter.name], spec.name)
            elif parameter.required:
                raise DriftduelError(
                    f"{self.kind} {spec.name!r} needs the key {parameter.name} ({parameter.help})."
                )
            else:
                values[parameter.name] = parameter.default
        for parameter in self.shared:
            if parameter.name in spec.values and parameter.name not in own:
                value = parameter.read(spec.values[parameter.name], spec.name)
                if value != parameter.default:
                    values[parameter.name] = value
        return Spec(spec.name, values)

    def build(self, spec: str | Spec, **given: Any) -> Built:
        """Build what a spec describes.

        Parameters
        ----------
        spec
            The spec, parsed or not.
        given
            The context, and values for keys that the spec leaves open, where there are such keys.
        """
        spec = Spec.parse(spec)
        known = {parameter.name for parameter in self[spec.name].parameters}
        open_keys = {k: v for k, v in given.items() if k in known and k not in spec.values}
        resolved = self.resolve(Spec(spec.name, {**spec.values, **open_keys}))
        context = {name: given[name] for name in self.context}
        own = {key: value for key, value in resolved.values.items() if key in known}
        more = {key: value for key, value in resolved.values.items() if key not in known}
        try:
            built = self[spec.name].factory(**context, **own)
            return self._around(built, **more) if self._around is not None and more else built
        except MemoryError as error:
            raise DriftduelError(
                f"{self.kind} {str(spec)!r} needs more memory than there is"
                + (f": {error}." if str(error) else ".")
            ) from None


def need_room(what: str, numbers: int, most: int = MOST_NUMBERS) -> None:
    """Refuse what would take more memory than is sensible, before anything is made.

    Parameters
    ----------
    what
        What takes it, as a sentence begins: ``"arms=10^6: a matrix of arms x arms entries"``.
    numbers
        How many numbers that is, of eight bytes each.
    most
        How many there may be.
    """
    if numbers > most:
        raise DriftduelError(
            f"{what} would take {numbers:,} numbers ({numbers / 1.25e8:,.1f} GB); at most "
            f"{most:,} ({most / 1.25e8:,.1f} GB) are sensible."
        )


def near(name: str, known: Iterable[str]) -> str:
    """Name the known words nearest to `name`, or all of them when none is near."""
    known = list(known)
    matches = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if matches:
        return "did you mean " + " or ".join(matches)
    return "known: " + ", ".join(known) if known else "it takes no keys"


def parameters_of(factory: Any, context: tuple[str, ...] = ()) -> Iterator[Parameter]:
    """Read the keys of a factory from its signature, those of the context aside."""
    is_class = isinstance(factory, type)
    annotated = inspect.getattr_static(factory, "__init__") if is_class else factory
    hints = get_type_hints(annotated, include_extras=True)
    for name, parameter in inspect.signature(factory).parameters.items():
        if name in context:
            continue
        kind: Any = hints[name]
        extras: list[Any] = []
        if get_origin(kind) is Annotated:
            kind, *extras = get_args(kind)
        kind = next((part for part in get_args(kind) if part is not type(None)), kind)
        allowed = next((extra for extra in extras if isinstance(extra, Range | Choice)), None)
        text = next((extra for extra in extras if isinstance(extra, str)), "")
        yield Parameter(name, kind, parameter.default, allowed, text)


def _short(value: Any) -> str:
    """Write a value as an error shows it: what is wrong is seen in its first characters."""
    text = _write(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def _read_int(value: Any) -> int:
    if isinstance(value, bool):
        raise ValueError
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:  # 1e6 is how people write a million
            value = float(value)
    if value != int(value):
        raise ValueError
    return int(value)


def _read_float(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or math.isnan(number):
        raise ValueError
    return number + 0.0  # to some who read it, -0.0 is below 0


def _read_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in ("true", "false"):
        raise ValueError
    return word == "true"


_READERS: dict[type, Callable[[Any], Any]] = {
    int: _read_int,
    float: _read_float,
    str: str,
    bool: _read_bool,
}
