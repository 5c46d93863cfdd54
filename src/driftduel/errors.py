"""The exceptions of driftduel for invalid input."""

__all__ = ["DriftduelError", "LogError", "MissingExtraError", "PluginWarning", "WeakSpotWarning"]


class DriftduelError(ValueError):
    """Raised for invalid input; the message is one sentence with the value and the remedy."""


class MissingExtraError(DriftduelError, ImportError):
    """Raised if an optional package is missing; the message names the extra to install.

    Parameters
    ----------
    package
        The package that could not be imported.
    extra
        The extra of driftduel that installs it.
    purpose
        The feature that needs it, the subject of the message.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed; "
            f"'pip install driftduel[{extra}]' installs it."
        )


class WeakSpotWarning(UserWarning):
    """Warning that the formulas of an algorithm are degenerate at the given horizon."""


class PluginWarning(UserWarning):
    """Raised as a warning when an installed plug-in cannot be imported."""


class LogError(DriftduelError):
    """Raised for an invalid event of a policy's event log.

    Parameters
    ----------
    message
        The message.
    place
        The index of the event in the log, from 0.
    round
        The round of the event; by default None.
    logged, asked
        The duel in the log, and the duel that the policy chooses: first arm, second arm and notes.
        By default None, for other errors.
    """

    def __init__(
        self,
        message: str,
        place: int,
        round: int | None = None,  # noqa: A002 - a duel's, as everywhere
        logged: tuple[int, int, tuple[float, ...]] | None = None,
        asked: tuple[int, int, tuple[float, ...]] | None = None,
    ) -> None:
        super().__init__(message)
        self.place, self.round = place, round
        self.logged, self.asked = logged, asked
