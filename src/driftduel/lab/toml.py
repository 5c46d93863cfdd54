"""Parser of TOML files of sweeps. Errors contain the file, the key and the index in a list.

msgspec checks the types and reports the position of an invalid value; `make_plan` checks the
values.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from driftduel._internal.defaults import BENCHMARK, GOAL, MODE, POINTS, RUNS, SEED
from driftduel._internal.reading import read_text
from driftduel.errors import DriftduelError, MissingExtraError
from driftduel.lab.plan import Plan, make_plan
from driftduel.specs import Spec, near

try:
    import msgspec
except ImportError:
    raise MissingExtraError("msgspec", "lab", "reading a sweep's TOML file") from None

__all__ = ["expand", "read_plan"]

_MOST_BYTES = 1 << 22  # bytes; a larger file is no plan
_MOST_SPECS = 10_000
_HOLE = re.compile(r"\{(\w+)\}")

# A float such as 1e6 is accepted if it is integral.
_Whole = int | Annotated[float, msgspec.Meta(multiple_of=1)]
_Values = Annotated[list[bool | int | float | str], msgspec.Meta(min_length=1)]


class _Sweep(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a file with their types."""

    worlds: list[str]
    policies: list[str]
    runs: _Whole = RUNS
    seed: _Whole | list[_Whole] = SEED
    horizons: Annotated[list[_Whole], msgspec.Meta(min_length=1)] | None = None
    parameters: dict[str, Any] = {}
    benchmark: str = BENCHMARK
    points: _Whole = POINTS
    imports: list[str] = []
    mode: str = MODE
    goal: str = GOAL


# Description of valid values, for a key and for the items of its list.
_RIGHT = {
    "worlds": ("a list of specs", "text"),
    "policies": ("a list of specs", "text"),
    "runs": ("a whole number", ""),
    "seed": ("a whole number, or a list of them", "a whole number"),
    "horizons": ("a list of numbers of rounds, at least one", "a whole number"),
    "parameters": ("a table of lists, [parameters]", ""),
    "benchmark": ("a word", ""),
    "points": ("a whole number", ""),
    "imports": ("a list of modules or files", "text"),
    "mode": ("a word", ""),
    "goal": ("a word", ""),
}


def read_plan(path: str | Path) -> Plan:
    """Read a sweep's TOML file.

    ``worlds`` and ``policies`` are lists of specs; ``runs`` and ``seed`` (a number, or a list)
    are numbers. Optional keys: ``horizons``, a list of rounds for every world; ``[parameters]``,
    lists of values that replace ``{name}`` in the specs; ``benchmark``; ``points``; ``mode``;
    ``goal``; ``imports``, modules or files that register policies or worlds, with paths relative
    to the working folder or to the TOML file.

    Raises
    ------
    DriftduelError
        If the file cannot be read or contains an invalid key or value.
    """
    path = Path(path)
    file = _File(str(path))
    written = _decode(file, read_text(path, _MOST_BYTES))
    parameters = _parameters(file, written.parameters)
    worlds = _expand_all(file, "worlds", written.worlds, parameters)
    worlds = _with_horizons(file, worlds, [int(rounds) for rounds in written.horizons or ()])
    policies = _expand_all(file, "policies", written.policies, parameters)
    holes = {name for spec in (*written.worlds, *written.policies) for name in _HOLE.findall(spec)}
    for name in parameters:
        if name not in holes:
            raise file.wrong(f"parameters.{name}", f"no spec uses {{{name}}}")
    file.places = {
        "worlds": [place for place, _ in worlds],
        "policies": [place for place, _ in policies],
    }
    seeds = written.seed if isinstance(written.seed, list) else [written.seed]
    return make_plan(
        [spec for _, spec in worlds],
        [spec for _, spec in policies],
        int(written.runs),
        [int(seed) for seed in seeds],
        benchmark=written.benchmark,
        points=int(written.points),
        imports=[_beside(path, name) for name in written.imports],
        mode=written.mode,
        goal=written.goal,
        blame=file.blame if isinstance(written.seed, list) else file.blame_one_seed,
    )


def _beside(plan: Path, name: str) -> str:
    """Return the path of a Python file: as given, or relative to the folder of the plan."""
    neighbour = plan.parent / name
    is_beside = name.endswith(".py") and not Path(name).exists() and neighbour.exists()
    return str(neighbour) if is_beside else name


class _File:
    """The path of a file and the positions of its values, such as ``policies[2]``, for errors."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.places: dict[str, list[int]] = {}
        """Indices in the file's lists of the expanded specs, by key."""

    def wrong(self, where: str, problem: str) -> DriftduelError:
        end = "" if problem.endswith((".", "?")) else "."
        return DriftduelError(f"{self.path}, key '{where}': {problem}{end}")

    @contextmanager
    def blame(self, key: str, place: int | None) -> Iterator[None]:
        """Add the position in the file to a DriftduelError of the block."""
        try:
            yield
        except DriftduelError as error:
            if place is None:
                raise self.wrong(key, str(error)) from None
            places = self.places.get(key)
            raise self.wrong(f"{key}[{places[place] if places else place}]", str(error)) from None

    def blame_one_seed(self, key: str, place: int | None) -> Any:
        """Add the position to errors; the seed of the file is a number, not a list."""
        return self.blame(key, None if key == "seed" else place)


def _decode(file: _File, text: str) -> _Sweep:
    """Parse the text of a file; raise DriftduelError with a description of valid values."""
    try:
        return msgspec.toml.decode(text, type=_Sweep)
    except msgspec.ValidationError as error:
        raise _explain_error(file, str(error), msgspec.toml.decode(text)) from None
    except msgspec.DecodeError as error:
        last = f"at line {len(text.splitlines())}, the end"
        message = str(error).replace("at end of document", last)
        raise DriftduelError(f"{file.path}: {message}.") from None
    except RecursionError:
        raise DriftduelError(f"{file.path}: lists or tables are nested too deeply.") from None
    except ValueError as error:  # a number of thousands of digits, an invalid date
        raise DriftduelError(f"{file.path}: {error}.") from None


def _explain_error(file: _File, message: str, record: dict[str, Any]) -> DriftduelError:
    """Convert an error message of msgspec to one with the key, the value and valid values."""
    known = _Sweep.__struct_fields__
    for key in record:
        if key not in known:
            return file.wrong(key, f"unknown key {key!r}; {near(key, known)}")
    for key in ("worlds", "policies"):
        if key not in record:
            return DriftduelError(
                f"{file.path}: the key {key!r} is missing; it is a list of specs."
            )
    where = message.rpartition(" - at `$.")[2].rstrip("`")  # such as policies[2]
    key, _, place = where.rstrip("]").partition("[")
    whole, part = _RIGHT[key]
    value = record[key]
    if place:
        return file.wrong(where, f"{value[int(place)]!r} must be {part}")
    return file.wrong(key, f"{value!r} must be {whole}")


def _parameters(file: _File, given: dict[str, Any]) -> dict[str, list[Any]]:
    for name, values in given.items():
        try:
            msgspec.convert(values, _Values)
        except msgspec.ValidationError:
            problem = f"{values!r} must be a list of numbers or words"
            raise file.wrong(f"parameters.{name}", problem) from None
    return given


def _expand_all(
    file: _File, key: str, specs: Sequence[str], parameters: Mapping[str, Sequence[Any]]
) -> list[tuple[int, str]]:
    """Replace the parameters of specs by their values; return each spec with its index."""
    expanded = []
    for place, spec in enumerate(specs):
        with file.blame(key, place):
            expanded += [(place, filled) for filled in expand(spec, parameters)]
    return expanded


def expand(spec: str, parameters: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the specs with ``{name}`` replaced by each value of that parameter.

    Examples
    --------
    >>> expand("sw-dts:window={w}", {"w": [300, 1000]})
    ['sw-dts:window=300', 'sw-dts:window=1000']
    """
    names = list(dict.fromkeys(_HOLE.findall(spec)))
    for name in names:
        if name not in parameters:
            known = near(name, parameters) if parameters else "the table [parameters] is missing."
            raise DriftduelError(f"{spec!r} uses {{{name}}}, which is not a parameter; {known}")
    many = math.prod(len(parameters[name]) for name in names)
    if many > _MOST_SPECS:
        raise DriftduelError(
            f"{spec!r} expands to {many:,} specs, one for each choice of its parameters; the "
            f"maximum is {_MOST_SPECS:,}."
        )
    result = []
    for values in itertools.product(*(parameters[name] for name in names)):
        filled = spec
        for name, value in zip(names, values, strict=True):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            filled = filled.replace(f"{{{name}}}", text)
        result.append(filled)
    return result


def _with_horizons(
    file: _File, worlds: list[tuple[int, str]], horizons: list[int]
) -> list[tuple[int, str]]:
    """Return the product of worlds and horizons, with each horizon as the value of rounds."""
    if not horizons:
        return worlds
    result = []
    for (place, world), rounds in itertools.product(worlds, horizons):
        with file.blame("worlds", place):
            spec = Spec.parse(world)
            if "rounds" in spec.values:
                raise DriftduelError(
                    f"{world!r} sets rounds, and so does the key 'horizons'; remove one of them."
                )
        result.append((place, str(Spec(spec.name, {**spec.values, "rounds": rounds}))))
    return result
