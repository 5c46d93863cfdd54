"""axe-core in the test browser: what it finds wrong with a page for people with disabilities."""

from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "requirements/npm/node_modules/axe-core/axe.min.js"
RUN = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.map(
    ({id, nodes}) => `${id}: ${nodes.map((node) => node.target.flat().join(' ')).join(', ')}`)"""


def violations(page):
    """Return the violations of a page, and of what is in its shadow roots."""
    if not SCRIPT.exists():
        pytest.skip("no axe-core: 'make axe' installs it with npm")
    page.evaluate(SCRIPT.read_text("utf-8") + ";undefined")
    return page.evaluate(RUN)
