"""Short names for worlds: keys that all specs share are omitted."""

from collections.abc import Sequence

from driftduel.specs import Spec

__all__ = ["short_names"]


def short_names(specs: Sequence[str]) -> tuple[list[str], str]:
    """Return specs without the parts that all of them share, and the common part.

    Examples
    --------
    >>> short_names(["geometric-btl:arms=5,rounds=100", "geometric-btl:arms=5,rounds=900"])
    (['rounds=100', 'rounds=900'], 'geometric-btl:arms=5')
    >>> short_names(["two-arm:rounds=100", "cycle:rounds=100"])
    (['two-arm', 'cycle'], 'rounds=100')
    """
    if len(specs) < 2:
        return list(specs), ""
    parsed = [Spec.parse(spec) for spec in specs]
    shared = {
        key: value
        for key, value in parsed[0].values.items()
        if all(other.values.get(key) == value for other in parsed)
    }
    one_name = all(other.name == parsed[0].name for other in parsed)
    names = []
    for spec in parsed:
        rest = {key: value for key, value in spec.values.items() if key not in shared}
        keys = str(Spec("x", rest)).partition(":")[2]
        names.append(keys or spec.name if one_name else str(Spec(spec.name, rest)))
    if len(set(names)) < len(names):
        return list(specs), ""
    common = str(Spec(parsed[0].name if one_name else "x", shared))
    return names, common if one_name else common.partition(":")[2]
