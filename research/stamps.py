"""Stamps of the records behind published tables: which code each was played with.

A record is a JSON or CSV file in ``research/records``. Its stamp is ``played/NAME.json`` in that
folder: a hash of the record, the pages that show it and, for each part of it, the command that
plays it again, version, commit, date, CPU time, and the fingerprints of the policies, worlds and
other code that were played (see `driftduel.lab.identity`). A part is current if these are the
fingerprints of the present code, stale if not, and unknown if it was played before stamps existed.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from driftduel import __version__
from driftduel._internal.defaults import MODE
from driftduel._internal.files import atomic_write
from driftduel._internal.reading import parse_json, read_text
from driftduel.errors import DriftduelError
from driftduel.lab.identity import policy_code, world_code
from driftduel.lab.source import installed
from research.policies import registered

__all__ = ["Part", "Stamp", "adopt", "header", "played", "read_stamp", "read_stamps", "stamp"]

_FOLDER = "played"
_WHOLE = "all"


@dataclass(frozen=True)
class Part:
    """The code and command of a part of a record."""

    command: str
    """Command that plays it again."""
    version: str
    commit: str | None
    """Of the checkout, with a plus sign if its source was changed; None outside of one."""
    date: str
    seconds: float | None = None
    """CPU time, in seconds."""
    mode: str = MODE
    code: dict[str, str] | None = None
    """Fingerprints by ``policy SPEC``, ``world SPEC`` and ``code MODULE:NAME``; None: unknown."""

    def changed(self) -> list[str]:
        """Return the policies, worlds and modules with changed code."""
        return [
            what
            for what, known in (self.code or {}).items()
            if _fingerprint(what, self.mode) != known
        ]

    def describe(self) -> str:
        """Return the version that played a stale part, and the later changes, as text."""
        commit = "" if self.commit is None else f", commit {self.commit}"
        text = f"played on {self.date} with driftduel {self.version}{commit}; "
        if self.code is None:
            return f"{text}its code was not recorded then and may have changed since."
        names = [f"`{each.partition(' ')[2]}`" for each in self.changed()]
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return f"{text}since then the code of {', '.join(names[:4])}{more} has changed."

    @property
    def is_current(self) -> bool:
        """Whether the part was played with the present code, as far as known."""
        return self.code is not None and not self.changed()


@dataclass(frozen=True)
class Stamp:
    """The code of a record, and the pages that show it."""

    record: str
    """Its file name."""
    sha256: str
    pages: list[str]
    parts: dict[str, Part] = field(default_factory=dict)

    def stale(self) -> dict[str, Part]:
        """Return the parts that were not played with the present code, or may not have been."""
        return {name: part for name, part in self.parts.items() if not part.is_current}

    def fits(self, folder: Path) -> bool:
        """Return whether the record is the one that was stamped."""
        path = folder / self.record
        return path.is_file() and _digest(path) == self.sha256

    def lines(self) -> Iterator[str]:
        """Yield descriptions of the stale parts; parts with the same description share one."""
        alike: dict[str, list[str]] = {}
        for name, part in self.stale().items():
            alike.setdefault(part.describe(), []).append(name)
        for said, names in alike.items():
            parts = "" if names == [_WHOLE] else f" ({', '.join(names)})"
            yield f"`{self.record}`{parts}: {said}"


def header(stamps: Iterable[Stamp], page: str) -> str:
    """Return the warning at the top of a page about its stale records; may be empty."""
    shown = [each for each in stamps if page in each.pages]
    lines = [line for each in shown for line in each.lines()]
    if not lines:
        return ""
    sure = any(part.code is not None for each in shown for part in each.stale().values())
    body = "\n".join(f"    - {line}" for line in lines)
    return (
        f'!!! warning "Numbers on this page {"are" if sure else "may be"} of an earlier version"\n'
        f"{body}\n\n"
        f"    `make stale` lists the commands that play them again.\n"
    )


@contextmanager
def played(
    record: Path,
    *,
    pages: Sequence[str],
    command: str,
    policies: Iterable[str] = (),
    worlds: Iterable[str] = (),
    code: Iterable[str] = (),
    mode: str = MODE,
    part: str = _WHOLE,
) -> Iterator[None]:
    """Stamp the record that the body of the context writes; the parameters are those of `stamp`."""
    # Before the games: code that is edited meanwhile is not the code that was played.
    known = _fingerprints(policies, worlds, code, mode)
    begun = _cpu()
    yield
    stamp(
        record, pages=pages, command=command, known=known, mode=mode, part=part,
        seconds=_cpu() - begun,
    )  # fmt: skip


def stamp(
    record: Path,
    *,
    pages: Sequence[str],
    command: str,
    known: Mapping[str, str] | None = None,
    policies: Iterable[str] = (),
    worlds: Iterable[str] = (),
    code: Iterable[str] = (),
    mode: str = MODE,
    part: str = _WHOLE,
    seconds: float | None = None,
    unknown: bool = False,
) -> Stamp:
    """Write the stamp of a record, or of a part of it, that was just played.

    Parameters
    ----------
    record
        The file, ``research/records/NAME.json``.
    pages
        The pages that show it, relative to the root of the checkout.
    command
        What plays it again.
    known
        The fingerprints; computed from the next three unless given.
    policies, worlds
        Their specs.
    code
        Other code, as ``module:name``.
    mode
        ``serve`` or ``panel``.
    part
        Which part of the record; the stamps of its other parts are kept.
    seconds
        The CPU time that it took.
    unknown
        The part mixes games of several versions, so that its code is not known.
    """
    record = record.resolve()
    folder = record.parent
    if known is None:
        known = _fingerprints(policies, worlds, code, mode)
    took = None if seconds is None else round(seconds, 1)
    today = datetime.now(UTC).date().isoformat()
    fingerprints = None if unknown else dict(known)
    new = Part(command, __version__, _commit(folder), today, took, mode, fingerprints)
    before = read_stamp(folder, record)
    parts = {} if before is None else before.parts
    return _write(folder, record, pages, {**parts, part: new})


def adopt(
    record: Path,
    *,
    pages: Sequence[str],
    command: str,
    parts: Sequence[str] = (_WHOLE,),
    commit: str = "",
) -> Stamp:
    """Stamp a record, or parts of it, that a script wrote without a stamp; the code is unknown.

    Version and date are those of a commit: the last one that changed the record unless given.
    """
    record = record.resolve()
    folder = record.parent
    place = [commit] if commit else ["--", str(record)]
    line = _git(folder, "log", "-1", "--format=%h %cs", *place)
    if not line:
        raise DriftduelError(f"{str(record)!r} is not in a commit; commit it first.")
    commit, date = line.split()
    text = _git(folder, "show", f"{commit}:src/driftduel/__init__.py") or ""
    version = text.partition('__version__ = "')[2].partition('"')[0] or "of that commit"
    before = read_stamp(folder, record)
    known = {} if before is None else before.parts
    unknown = dict.fromkeys(parts, Part(command, version, commit, date))
    return _write(folder, record, pages, {**known, **unknown})


def read_stamp(folder: Path, record: Path) -> Stamp | None:
    """Return the stamp of a record, or None if it has none."""
    path = _path(folder, record)
    return _read(path) if path.is_file() else None


def read_stamps(folder: Path) -> list[Stamp]:
    """Return all stamps of a folder of records."""
    return [_read(path) for path in sorted((folder / _FOLDER).glob("*.json"))]


def _read(path: Path) -> Stamp:
    try:
        record = parse_json(read_text(path))
        parts = {name: Part(**part) for name, part in record["parts"].items()}
        return replace(Stamp(**{**record, "parts": {}}), parts=parts)
    except (KeyError, TypeError, AttributeError):
        raise DriftduelError(f"{str(path)!r} is not a stamp of a record.") from None


def _write(folder: Path, record: Path, pages: Sequence[str], parts: Mapping[str, Part]) -> Stamp:
    made = Stamp(record.name, _digest(record), list(pages), dict(sorted(parts.items())))
    path = _path(folder, record)
    path.parent.mkdir(exist_ok=True)
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    return made


def _path(folder: Path, record: Path) -> Path:
    return folder / _FOLDER / f"{record.stem}.json"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fingerprints(
    policies: Iterable[str], worlds: Iterable[str], code: Iterable[str], mode: str
) -> dict[str, str]:
    names = [f"policy {spec}" for spec in dict.fromkeys(policies)]
    names += [f"world {spec}" for spec in dict.fromkeys(worlds)]
    names += [f"code {place}" for place in dict.fromkeys(code)]
    return {name: _fingerprint(name, mode) for name in names}


def _fingerprint(what: str, mode: str) -> str:
    kind, _, name = what.partition(" ")
    if kind == "code":
        module, _, inside = name.partition(":")
        return installed().fingerprint(module, inside)
    try:
        with registered():
            return policy_code(name, mode) if kind == "policy" else world_code(name)
    except DriftduelError as error:  # it does not exist any more
        return f"none: {error}"


def _commit(folder: Path) -> str | None:
    commit = _git(folder, "rev-parse", "--short", "HEAD")
    edited = _git(folder, "status", "--porcelain", "--", ":/src", ":/research/policies")
    return f"{commit}+" if commit and edited else commit


def _git(folder: Path, *words: str) -> str | None:
    """Return what git prints; None where there is no git, or nothing to print."""
    with suppress(OSError, subprocess.CalledProcessError):
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip() or None
    return None


def _cpu() -> float:
    """Return the CPU time of this process and of those that it has waited for, in seconds."""
    return sum(os.times()[:4])
