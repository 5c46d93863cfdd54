"""List the policies that a spec can name; with --long, or for one of them, all there is to know.

That is its keys, what it must be told, what is proven of it, where it is from, and how sure we are.
"""

import argparse
import json
from typing import Any

__all__ = ["configure", "markdown", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this policy, with its keys")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--long", action="store_true", help="all policies with all that is known")
    form.add_argument("--json", action="store_true", help="print JSON instead")
    form.add_argument("--markdown", action="store_true", help="print the table of docs/rivals.md")


def run(arguments: argparse.Namespace) -> None:
    """Print the list."""
    from driftduel.cli.listing import described
    from driftduel.policies import POLICIES

    entries = [POLICIES[arguments.name]] if arguments.name else list(POLICIES)
    if arguments.json:
        listed = {entry.name: {**described(entry), **_facts(entry)} for entry in entries}
        print(json.dumps(listed, indent=2))
    elif arguments.markdown:
        print(markdown(entries))
    elif arguments.name:
        _print_families(entries, in_panel=True)
    else:
        if arguments.long:
            _print_families(entries, in_panel=False)
            print("anew-NAME starts NAME, any of these, anew whenever an option comes or goes.")
        else:
            _print_short(entries)
        print("A policy is written name:key=value,key=value - for example")
        print("  driftduel play --policy sw-dts:window=5000 --world geometric-btl")


def _family(entry: Any) -> str:
    """Return the name that stands for all compositions of one kind: ``sw-*``."""
    wrapper: Any = getattr(entry.factory, "wrapper", None)
    return f"{wrapper.prefix}-*" if wrapper else entry.name


def _print_short(entries: list[Any]) -> None:
    from driftduel.cli import catalogue
    from driftduel.cli.listing import print_groups

    grouped = {name for group in catalogue.POLICIES.values() for name in group}
    print_groups(catalogue.POLICIES, (e for e in entries if _family(e) not in grouped))
    print("'driftduel policies NAME' has the keys of one and its source, --long of all.")


def _print_families(entries: list[Any], in_panel: bool) -> None:
    """Print all that is known, of compositions of one kind once."""
    from driftduel.cli.listing import print_entry
    from driftduel.cli.text import wrapped

    families: dict[str, list[Any]] = {}
    for entry in entries:
        families.setdefault(_family(entry), []).append(entry)
    for family in families.values():
        print_entry(family[0])
        facts = _facts(family[0])
        told = ", ".join(facts["told"]) or "nothing"
        lines = [f"told: {told}", f"guarantee: {facts['guarantee']}", f"source: {facts['source']}"]
        lines.append(f"confidence: {facts['confidence']}")
        if in_panel:
            lines.append(f"in panel mode: {facts['in_panel']}")
        if len(family) > 1:
            lines.append("also: " + ", ".join(entry.name for entry in family[1:]))
        for line in lines:
            print(wrapped(line, "      ", first="    "))
        print()


def markdown(entries: list[Any]) -> str:
    """Write the policies as a table, compositions once for each wrapper."""
    lines = [
        "| name | what it does | keys | told | guarantee | source | confidence |",
        "|" + "---|" * 7,
    ]
    seen = set()
    for entry in entries:
        wrapper: Any = getattr(entry.factory, "wrapper", None)
        name, summary = entry.name, entry.summary
        if wrapper is not None:
            if wrapper in seen or not entry.name.startswith(f"{wrapper.prefix}-"):
                continue
            seen.add(wrapper)
            name, summary = f"{wrapper.prefix}-*", summary.partition(" Around:")[0]
        facts = _facts(entry)
        keys = ", ".join(f"`{parameter.name}`" for parameter in entry.parameters)
        told = ", ".join(facts["told"]) or "nothing"
        cells = (f"`{name}`", summary, keys, told, facts["guarantee"], facts["source"])
        lines.append("| " + " | ".join((*cells, facts["confidence"])) + " |")
    return "\n".join(lines)


def _facts(entry: Any) -> dict[str, Any]:
    """Read what a policy's class says of it; a wrapper speaks for itself and the one inside."""
    from driftduel.policies.around import in_panel_by, told_by

    kind = getattr(entry.factory, "wrapper", entry.factory)
    return {
        "told": list(told_by(entry)),
        "guarantee": kind.guarantee,
        "in_panel": in_panel_by(entry),
        "source": kind.source,
        "confidence": kind.confidence,
    }
