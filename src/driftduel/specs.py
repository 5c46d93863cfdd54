"""Specs: a world or a policy as one short string, ``name:key=value,key=value``.

A registry maps names to factory functions. The signature of a factory is the single source of
truth: keys, types, defaults, ranges and one line of help are read from its annotations, so that the
command line, TOML files, error messages and the documentation cannot disagree.
"""

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from driftduel._internal.display import as_html, as_text
from driftduel._internal.wording import counted, decimals
from driftduel.errors import DriftduelError

__all__ = [
    "MOST_NUMBERS", "Choice", "Entry", "Parameter", "Range", "Registry", "Spec", "near",
    "need_room", "parameters_of", "path_as_spec",
]  # fmt: skip

Built = TypeVar("Built")
Factory = TypeVar("Factory", bound=Callable[..., Any])
# Range of magnitudes: squares and products of such values neither overflow nor underflow.
_SMALLEST, _LARGEST = 1e-100, 1e100
_LARGEST_WHOLE = 10**18
MOST_NUMBERS = 100_000_000
"""The largest number of values of a world in memory: 800 MB."""
_REQUIRED = inspect.Parameter.empty
# A comma separates keys only if a key follows it, so that file names may contain commas.
_KEYS = re.compile(r",(?=\s*[\w-]+\s*=)")
_NAME = re.compile(r"[A-Za-z][\w-]*")
# Matches a file name in the place of a spec: mine.csv, ./mine, C:\\mine.npz.
_PATH = re.compile(r".*[\\/].*|.*\w\.[A-Za-z]\w*")
_DRIVE = re.compile(r"\s*[A-Za-z]:[\\/]")
_PREFLIB = (".soc", ".soi", ".toc", ".toi", ".pwg")
_LONGEST_LIST = 20
_LONGEST_PATH = 200
_MUCH_FURTHER = 0.15  # a second suggestion is shown only if it is nearly as close


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`; the ends are included unless open: both, or one of them.

    Values of extreme magnitude (infinite, beyond 1e100, or beyond 10^18 for whole numbers) are
    allowed only up to a `high` of that kind, or if `infinite` is set.
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
        low, high = _bound(self.low), _bound(self.high)
        if math.isinf(self.high):
            return f"{'above' if self.open else 'at least'} {low}"
        if self.open_low:
            return f"above {low} and at most {high}"
        if self.open_high:
            return f"at least {low} and below {high}"
        between = f"{low} and {high}"
        return f"strictly between {between}" if self.open else f"between {between}"


@dataclass(frozen=True)
class Choice:
    """One of a few allowed values."""

    words: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.words

    def __str__(self) -> str:
        return "one of " + ", ".join(self.words)


@dataclass(frozen=True)
class Spec:
    """A name and its keys as written, before validation."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: "str | Spec") -> "Spec":
        """Parse ``name:key=value,key=value``.

        Examples
        --------
        >>> Spec.parse("geometric-btl:arms=10,phases=4").values["phases"]
        '4'
        """
        if isinstance(text, Spec):
            return text
        name, _, rest = text.strip().partition(":")
        if not _NAME.fullmatch(name) or _DRIVE.match(text):
            raise DriftduelError(f"{text!r} is not a spec; {_rather(text.strip())}.")
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
    """One key of a spec: its type, default, allowed values, and one line of help."""

    name: str
    kind: type
    default: Any
    allowed: Range | Choice | None
    help: str

    @property
    def required(self) -> bool:
        """Return whether the key has no default."""
        return self.default is _REQUIRED

    def read(self, value: Any, owner: str) -> Any:
        """Return a written value converted to the right type, or raise if it is out of range."""
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
            self._check_magnitude(result, value, owner)
        return result

    def _check_magnitude(self, number: float, value: Any, owner: str) -> None:
        """Raise if the number, or its square, overflows or underflows float64."""
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
            sizes = f", in size between {_bound(_SMALLEST)} and {_bound(most)}"
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
    """A registered factory function with the parameters of its signature."""

    name: str
    factory: Callable[..., Built]
    parameters: tuple[Parameter, ...]
    summary: str


class Registry(Generic[Built]):
    """Factory functions by name, and the method to build an object from a spec.

    Parameters
    ----------
    kind
        The kind of registered object for error messages: ``"world"``.
    context
        Parameters of the factories that are passed by the caller of `build`, never by a spec.
    around
        A function that modifies the built object, its first argument. Its other parameters are keys
        that every spec may have; with their default values the object is returned unchanged.
    load_more
        Registers more names, those of installed plug-ins; called once, before the names are listed
        or when one is missing.
    """

    def __init__(
        self,
        kind: str,
        context: tuple[str, ...] = (),
        around: Callable[..., Built] | None = None,
        load_more: Callable[[], None] | None = None,
    ) -> None:
        self._load_more = load_more
        self._loading = RLock()
        self.kind = kind
        self.context = context
        self.around = around
        self.shared: tuple[Parameter, ...] = ()
        """The parameters of `around`, additional keys of every spec."""
        if around is not None:
            built = next(iter(inspect.signature(around).parameters))
            self.shared = tuple(parameters_of(around, (built,)))
        self._entries: dict[str, Entry[Built]] = {}

    def register(self, name: str) -> Callable[[Factory], Factory]:
        """Return a decorator that registers a factory function under `name`."""

        def decorate(factory: Factory) -> Factory:
            summary = (inspect.getdoc(factory) or "").partition("\n")[0]
            self.add(Entry(name, factory, tuple(parameters_of(factory, self.context)), summary))
            return factory

        return decorate

    def add(self, entry: Entry[Built]) -> None:
        """Register a factory with given parameters."""
        if entry.name in self._entries:
            raise DriftduelError(f"there is already a {self.kind} named {entry.name!r}.")
        self._entries[entry.name] = entry

    def alias(self, name: str, of: str) -> None:
        """Register a second name for an entry."""
        self.add(replace(self[of], name=name))

    def remove(self, name: str) -> None:
        """Remove a name; a name that is not registered is ignored."""
        self._entries.pop(name, None)

    @contextmanager
    def temporarily(self) -> Iterator["Registry[Built]"]:
        """Restore the registry at the end of the block, for tests and notebooks.

        Examples
        --------
        >>> numbers = Registry("number")
        >>> with numbers.temporarily():
        ...     two = numbers.register("two")(lambda: 2)
        ...     numbers.build("two")
        2
        >>> "two" in numbers
        False
        """
        self._load()
        before = dict(self._entries)
        try:
            yield self
        finally:
            self._entries = before

    def _load(self) -> None:
        """Register the names of plug-ins, unless that was done."""
        with self._loading:  # another thread waits until all names are there
            load_more, self._load_more = self._load_more, None
            if load_more is not None:
                load_more()

    def __repr__(self) -> str:
        self._load()
        return as_text(self._title(), [("", ", ".join(self._entries))])

    def _repr_html_(self) -> str:
        return as_html(self._title(), [(entry.name, entry.summary) for entry in self])

    def _title(self) -> str:
        many = f"{self.kind[:-1]}ies" if self.kind.endswith("y") else f"{self.kind}s"
        return counted(len(self._entries), self.kind, many)

    def __contains__(self, name: object) -> bool:
        if name not in self._entries:
            self._load()
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[Built]]:
        self._load()
        return iter(list(self._entries.values()))

    def __getitem__(self, name: str) -> Entry[Built]:
        if name not in self._entries:
            self._load()
        if name not in self._entries:
            raise DriftduelError(
                f"there is no {self.kind} named {name!r}; {near(name, self._entries)}"
            )
        return self._entries[name]

    def resolve(self, spec: str | Spec) -> Spec:
        """Check a spec and fill in the defaults of its keys, in the order of the signature."""
        spec = Spec.parse(spec)
        entry = self[spec.name]
        own = {parameter.name: parameter for parameter in entry.parameters}
        known = {**{parameter.name: parameter for parameter in self.shared}, **own}
        for key in spec.values:
            if key not in known:
                raise DriftduelError(
                    f"{self.kind} {spec.name!r} has no key {key!r}; {near(key, known)}"
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
        """Return the object that a spec describes.

        Parameters
        ----------
        spec
            The spec, parsed or not.
        given
            The context, and default values for keys that the spec does not set.
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
            return self.around(built, **more) if self.around is not None and more else built
        except MemoryError as error:
            raise DriftduelError(
                f"{self.kind} {str(spec)!r} needs more memory than there is"
                + (f": {error}." if str(error) else ".")
            ) from None


def need_room(what: str, numbers: int, most: int = MOST_NUMBERS) -> None:
    """Raise if an object would take too much memory, before it is allocated.

    Parameters
    ----------
    what
        The subject of the message: ``"arms=10^6: a matrix of arms x arms entries"``.
    numbers
        The number of values, of eight bytes each.
    most
        The largest number of values.
    """
    if numbers > most:
        raise DriftduelError(
            f"{what} would take {numbers:,} numbers ({decimals(numbers / 1.25e8, 1)} GB); at most "
            f"{most:,} ({decimals(most / 1.25e8, 1)} GB) are sensible."
        )


def near(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message: close matches of `name`, or all known names.

    Examples
    --------
    >>> near("DTS", ["dts", "dts-plus", "rucb"])
    'did you mean dts?'
    >>> near("rubc", ["dts", "dts-plus", "rucb"])
    'did you mean rucb?'
    """
    known = list(known)
    by_shape: dict[str, str] = {}
    for word in known:
        by_shape.setdefault(_shape(word), word)
    shape = _shape(name)
    if shape in by_shape:
        return f"did you mean {by_shape[shape]}?"
    matches = difflib.get_close_matches(shape, by_shape, n=3, cutoff=0.5)
    if matches:
        near_enough = _alike(shape, matches[0]) - _MUCH_FURTHER
        meant = [by_shape[match] for match in matches if _alike(shape, match) >= near_enough]
        return f"did you mean {' or '.join(meant)}?"
    if not known:
        return "it takes no keys."
    more = len(known) - _LONGEST_LIST
    rest = f" and {more} more" if more > 0 else ""
    return f"known: {', '.join(known[:_LONGEST_LIST])}{rest}."


def path_as_spec(text: str) -> str | None:
    """Return the spec of the world in a file, or None if the argument is not a file name.

    Examples
    --------
    >>> path_as_spec("./mine.npz")
    'file:path=./mine.npz'
    >>> path_as_spec("mine.csv:rounds=500")
    'file:path=mine.csv,rounds=500'
    >>> path_as_spec("votes.soc")
    'preflib:path=votes.soc'
    >>> path_as_spec("geometric-btl:ratio=1.5")
    """
    path, _, keys = text.partition(":") if not _DRIVE.match(text) else (text, "", "")
    if not _PATH.fullmatch(path) or len(text) > _LONGEST_PATH:
        return None
    if path.lower().endswith(".csv") and not keys:
        keys = "rounds=50000"  # a single matrix has no default length
    world = "preflib" if path.lower().endswith(_PREFLIB) else "file"
    return f"{world}:path={path},{keys}" if keys else f"{world}:path={path}"


def _bound(number: float) -> str:
    """Return an end of a range as text: 1e15, 2^128 - 1."""
    if isinstance(number, int) and number >= 2**53 and number & (number + 1) == 0:
        return f"2^{number.bit_length()} - 1"
    return f"{number:g}".replace("e+0", "e").replace("e+", "e")


def _shape(word: str) -> str:
    """Return a word in lower case with dashes only, for comparisons."""
    return word.casefold().replace("_", "-").lstrip("-")


def _alike(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, other, one).ratio()


def _rather(text: str) -> str:
    """Return a suggestion for an argument that is not a spec."""
    spec = path_as_spec(text)
    if spec is None:
        return "write name:key=value,key=value, for example geometric-btl:arms=10,phases=4"
    if text.endswith(".py"):
        return f"a module with worlds or policies is loaded by '--import {text}'"
    return f"a world in a file is written '{spec}'"


def parameters_of(factory: Any, context: tuple[str, ...] = ()) -> Iterator[Parameter]:
    """Yield the keys of a factory function, from its signature without the context."""
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
    """Return a value as text for an error message, shortened to its first characters."""
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
        except ValueError:  # accept 1e6 for a million
            value = float(value)
    if value != int(value):
        raise ValueError
    return int(value)


def _read_float(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or math.isnan(number):
        raise ValueError
    return number + 0.0  # -0.0 is normalised to 0.0


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
