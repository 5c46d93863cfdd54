"""The one exception a user's mistake raises."""

__all__ = ["DriftduelError", "MissingExtraError", "WeakSpotWarning"]


class DriftduelError(ValueError):
    """Say, in one sentence, which value is wrong and what would be right."""


class MissingExtraError(DriftduelError, ImportError):
    """Say which optional part to install.

    Parameters
    ----------
    package
        The package that could not be imported.
    extra
        The extra of driftduel that brings it.
    purpose
        What it is needed for; the sentence begins with it.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed; "
            f"'pip install driftduel[{extra}]' brings it."
        )


class WeakSpotWarning(UserWarning):
    """Say that an algorithm's own formulas cannot work at the horizon it was given."""
