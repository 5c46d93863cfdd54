"""Show the types of the Python reference plainly: the type alone, and each parameter's own.

A spec's keys are annotated with ranges and help, which the pages on worlds and policies print; in a
list of parameters they only get in the way. And where a docstring describes two parameters at
once, each keeps its own type.
"""

from typing import Any

import griffe


class PlainTypes(griffe.Extension):
    """Strip ``Annotated`` from every parameter, once a package is read."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Strip the types, then put them into the docstrings."""
        functions = list(_functions(pkg))
        for function in functions:
            for parameter in function.parameters:
                parameter.annotation = _plain(parameter.annotation)
        for function in functions:
            described = function.parent if function.name == "__init__" else function
            if described is None or described.docstring is None:
                continue
            for section in described.docstring.parsed:
                if isinstance(section, griffe.DocstringSectionParameters):
                    for said in section.value:
                        if said.name in function.parameters:
                            said.annotation = function.parameters[said.name].annotation


def _functions(parent: griffe.Object) -> Any:
    for member in list(parent.members.values()):
        if member.is_alias:
            continue
        if isinstance(member, griffe.Function):
            yield member
        elif isinstance(member, griffe.Class | griffe.Module):
            yield from _functions(member)


def _plain(annotation: Any) -> Any:
    if isinstance(annotation, griffe.ExprSubscript) and str(annotation.left) == "Annotated":
        inside = annotation.slice
        return inside.elements[0] if isinstance(inside, griffe.ExprTuple) else inside
    return annotation
