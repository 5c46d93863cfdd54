"""Scripts that are no part of the package, as modules that a test can look into."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def load_script(place: str) -> ModuleType:
    """Return a script of the repository, say "docs/generate.py", without running its `main`."""
    path = ROOT / place
    if str(path.parent) not in sys.path:  # as if it were run: it may import its neighbours
        sys.path.append(str(path.parent))
    name = "_".join(path.relative_to(ROOT).with_suffix("").parts)
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]
