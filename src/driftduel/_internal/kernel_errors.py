"""One sentence for a kernel that the compiler refuses; numba's text stays behind it as the cause.

Numba describes its own search for an implementation, over pages. An author needs the line of the
kernel and the remedy. Only numba's text is read here, so that nothing imports the compiler.
"""

import linecache
import re
from pathlib import Path

__all__ = ["describe_kernel_error"]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)|at (?P<at>\S+) \((?P<on>\d+)\)')
_OURS = Path(__file__).parent
_ATTRIBUTE = re.compile(r"Unknown attribute '(\w+)' of type (\w+)")
_UNTYPED = re.compile(r"Untyped global name '(\w+)':.*Cannot determine Numba type of <class '(\w+)")
_UNDEFINED = re.compile(r"NameError: name '(\w+)' is not defined")
_NUMPY = re.compile(r"\b((?:np|numpy)\.\w+)\(")
_METHOD = re.compile(r"(\.\w+)\(")
# Without its reference counting numba allows neither a new array nor one that is returned.
_ALLOCATES = ("NRT required", "Only accept returning of array")
_NO_REASON = ("Failed in", "During:", "File ", "- Resolution", "There are", ">>>")


def describe_kernel_error(text: str, kernel: str) -> str:
    """Return one sentence with the place and the remedy, from numba's account of an error.

    Parameters
    ----------
    text
        The text of numba's error.
    kernel
        The name of the kernel that was being compiled, for an error without a place.
    """
    text = _COLOUR.sub("", text)
    place = _place(text)
    source = linecache.getline(*place).strip() if place else ""
    where = f"{Path(place[0]).name}, line {place[1]}" if place else f"kernel {kernel!r}"
    return f"{where}: {_remedy(text, source)}."


def _place(text: str) -> tuple[str, int] | None:
    """Return the innermost line that is neither numba's nor, if there is another, ours."""
    places = [
        (str(Path(found["file"] or found["at"]).resolve()), int(found["line"] or found["on"]))
        for found in _PLACE.finditer(text)
    ]
    places = [each for each in places if "numba" not in Path(each[0]).parts]
    foreign = [each for each in places if not Path(each[0]).is_relative_to(_OURS)]
    return next(iter(foreign or places), None)


def _remedy(text: str, source: str) -> str:
    if any(mark in text for mark in _ALLOCATES):
        return f"kernels cannot allocate: {_without_allocation(source)}"
    if found := _ATTRIBUTE.search(text):
        name, kind = found.groups()
        if "random" in source:
            return "kernels draw random numbers with `uniform(rng)`, `normal(rng)` and `beta`"
        if kind == "Module":
            return f"kernels cannot use `{name}`: the compiler does not know it"
        return f"there is no field `{name}` in the record {kind}"
    if found := _UNTYPED.search(text):
        name, kind = found.groups()
        if kind == "function":
            return f"kernels call only kernels: mark `{name}` with @kernel or @inline_kernel"
        return f"kernels cannot use the global `{name}`, a {kind}: use numbers, arrays and kernels"
    if found := _UNDEFINED.search(text):
        return f"the name `{found[1]}` is not defined"
    if "unify return type" in text:
        return "the kernel returns values of different types: return the same type everywhere"
    if "Cannot unify" in text:
        return "a variable has different types on different paths: give it one type"
    lines = (line.strip() for line in text.splitlines())
    reason = next((line for line in lines if line and not line.startswith(_NO_REASON)), text)
    reason = reason.removesuffix("Raised from None").rstrip(".: ")
    return f"the compiler refuses the kernel: {reason}"


def _without_allocation(source: str) -> str:
    if found := _NUMPY.search(source):
        return f"replace `{found[1]}()` by a loop, or keep the array in the state"
    if found := _METHOD.search(source):
        return f"replace `{found[1]}()` by a loop"
    if re.search(r"[=(:,]\s*[\[{]|return\s*[\[{]", source):
        return "keep an array in the state in place of a list or a dictionary"
    return "replace arithmetic on whole arrays by a loop over their entries"
