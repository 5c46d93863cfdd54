"""A sweep's TOML file; what is wrong in it is said with file, line and key."""

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from driftduel._reading import read_text
from driftduel.errors import DriftduelError
from driftduel.lab.plan import Plan, make_plan
from driftduel.specs import Spec, near

__all__ = ["expand", "read_plan"]

_MOST_BYTES = 1 << 22  # a plan that somebody has written, or a program for somebody to read
_MOST_SPECS = 10_000
_HOLE = re.compile(r"\{(\w+)\}")
_KEYS = (
    "worlds", "policies", "runs", "seed", "horizons", "parameters", "benchmark", "points",
    "imports",
)  # fmt: skip


def read_plan(path: str | Path) -> Plan:
    """Read a sweep's TOML file.

    ``worlds`` and ``policies`` are lists of specs; ``runs`` and ``seed`` (a number, or a list)
    are numbers. All else is optional: ``horizons``, a list of rounds for every world;
    ``[parameters]``, lists whose values take the place of ``{name}`` in the specs;
    ``benchmark``; ``points``; ``imports``, modules or files with policies of your own.
    """
    path = Path(path)
    text = read_text(path, _MOST_BYTES)
    file = _File(str(path), text)
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DriftduelError(f"{path}: {_with_key(str(error), text)}.") from None
    except RecursionError:
        raise DriftduelError(f"{path}: lists or tables are nested too deeply.") from None
    except ValueError as error:  # a number of thousands of digits, a date that never was
        raise DriftduelError(f"{path}: {error}.") from None
    for key in record:
        if key not in _KEYS:
            file.fail(key, f"there is no key {key!r}; {near(key, _KEYS)}")
    for key in ("worlds", "policies"):
        if key not in record:
            raise DriftduelError(f"{path}: the key {key!r} is missing; it is a list of specs.")
    parameters = _parameters(file, record.get("parameters", {}))
    horizons = file.listed(record, "horizons", int, "numbers of rounds", default=[])
    if "horizons" in record and not horizons:
        file.fail("horizons", "horizons is empty; name at least one, or leave it out")
    seed = record.get("seed", 0)
    if not isinstance(seed, list):
        seed = [file.one(record, "seed", int, 0, "a whole number, or a list of them")]
    used: set[str] = set()
    specs: dict[str, list[str]] = {"worlds": [], "policies": []}
    for key, expanded in specs.items():
        for spec in file.listed(record, key, str, "specs"):
            with file.blame(key, spec):
                every = expand(spec, parameters, used)
                if key == "worlds":
                    every = _with_horizons(every, horizons)
            file.origin.update(dict.fromkeys(every, spec))
            expanded.extend(every)
    for name in parameters:
        if name not in used:
            file.fail(name, f"no spec uses {{{name}}}", inside="parameters")
    return make_plan(
        specs["worlds"],
        specs["policies"],
        file.one(record, "runs", int, 20, "a whole number"),
        file.listed({"seed": seed}, "seed", int, "whole numbers"),
        benchmark=file.one(record, "benchmark", str, "condorcet", "a word"),
        points=file.one(record, "points", int, 200, "a whole number"),
        imports=file.listed(record, "imports", str, "modules or files", default=[]),
        blame=file.blame,
    )


def expand(
    spec: str, parameters: Mapping[str, Sequence[Any]], used: set[str] | None = None
) -> list[str]:
    """Write a spec with ``{name}`` in it once for every value of that parameter.

    Examples
    --------
    >>> expand("sw-dts:window={w}", {"w": [300, 1000]})
    ['sw-dts:window=300', 'sw-dts:window=1000']
    """
    names = list(dict.fromkeys(_HOLE.findall(spec)))
    for name in names:
        if name not in parameters:
            known = near(name, parameters) if parameters else "there are no [parameters]"
            raise DriftduelError(f"{spec!r} uses {{{name}}}, which is no parameter; {known}.")
    if used is not None:
        used.update(names)
    many = math.prod(len(parameters[name]) for name in names)
    if many > _MOST_SPECS:
        raise DriftduelError(
            f"{spec!r} stands for {many:,} specs, one for each choice of its parameters; a plan "
            f"has at most {_MOST_SPECS:,}."
        )
    result = []
    for values in itertools.product(*(parameters[name] for name in names)):
        filled = spec
        for name, value in zip(names, values, strict=True):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            filled = filled.replace(f"{{{name}}}", text)
        result.append(filled)
    return result


class _File:
    """A TOML file's text, to say where in it something is wrong."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.lines = path, text.splitlines()
        self.origin: dict[Any, str] = {}  # specs, and how they were written before expansion

    def where(self, key: str, value: Any = None, inside: str | None = None) -> str:
        """Name file, line and key; the line is the value's, if it can be found below the key.

        A key inside a table is looked for below the table's name.
        """
        name = rf"""["']?{re.escape(key)}["']?"""
        if inside is None:
            line = self._line(rf"^\s*(\[\s*)?{name}\s*[=\].]")
        else:
            table = self._line(rf"""^\s*(\[\s*)?["']?{re.escape(inside)}["']?\s*[=\].]""")
            line = self._line(rf"(^|[\s.{{,]){name}\s*=", table or 0)
        if line is None:
            return f"{self.path}, key {key!r}"
        if value is not None:
            word = re.escape(str(value))
            whole = (
                f"[\"']{word}[\"']" if isinstance(value, str) else rf"(?<![\w.+-]){word}(?![\w.])"
            )
            found = self._line(whole, line)
            line = line if found is None else found
        return f"{self.path}, line {line + 1}, key {key!r}"

    def _line(self, pattern: str, first: int = 0) -> int | None:
        """Return the first line from `first` on that has a pattern."""
        below = enumerate(self.lines[first:], first)
        return next((n for n, text in below if re.search(pattern, text)), None)

    def fail(
        self, key: str, message: str, value: Any = None, inside: str | None = None
    ) -> NoReturn:
        raise DriftduelError(f"{self.where(key, value, inside)}: {message}.")

    @contextmanager
    def blame(self, key: str, value: Any) -> Iterator[None]:
        """Say of a mistake made inside where in the file it is."""
        try:
            yield
        except DriftduelError as error:
            where = self.where(key, self.origin.get(value, value))
            raise DriftduelError(f"{where}: {error}") from None

    def one(self, record: Mapping[str, Any], key: str, kind: type, default: Any, what: str) -> Any:
        value = record.get(key, default)
        if kind is int and isinstance(value, float) and value.is_integer():
            return int(value)  # 1e6 is how people write a million
        if not isinstance(value, kind) or isinstance(value, bool):
            self.fail(key, f"{value!r} must be {what}", value)
        return value

    def listed(
        self,
        record: Mapping[str, Any],
        key: str,
        kind: type,
        what: str,
        default: list[Any] | None = None,
    ) -> list[Any]:
        values = record.get(key, default)
        if not isinstance(values, list):
            self.fail(key, f"{values!r} must be a list of {what}")
        return [
            self.one({key: value}, key, kind, None, "text" if kind is str else "a whole number")
            for value in values
        ]


def _with_key(message: str, text: str) -> str:
    """Add the key that a syntax error stands behind, where there is one."""
    lines = text.splitlines()
    place = re.search(r"at line (\d+), column (\d+)", message)
    if place:  # what stands before that place
        last, column = int(place[1]), int(place[2])
        lines = [*lines[: last - 1], *(line[: column - 1] for line in lines[last - 1 : last])]
    else:
        message = message.replace("at end of document", f"at line {len(lines)}, the end")
    for line in reversed(lines):
        key = re.match(r"\s*([\w-]+)\s*=", line)
        if key:
            return f"{message}, near the key {key[1]!r}"
    return message


def _parameters(file: _File, given: Any) -> dict[str, list[Any]]:
    if not isinstance(given, dict):
        file.fail("parameters", "must be a table of lists, [parameters]")
    for name, values in given.items():
        plain = isinstance(values, list) and values
        if not plain or not all(isinstance(v, int | float | str) for v in values):
            problem = f"{values!r} must be a list of numbers or words"
            file.fail(name, problem, inside="parameters")
    return dict(given)


def _with_horizons(worlds: list[str], horizons: list[int]) -> list[str]:
    if not horizons:
        return worlds
    result = []
    for world, rounds in itertools.product(worlds, horizons):
        spec = Spec.parse(world)
        if "rounds" in spec.values:
            raise DriftduelError(f"{world!r} gives rounds, and so does the key 'horizons'.")
        result.append(str(Spec(spec.name, {**spec.values, "rounds": rounds})))
    return result
