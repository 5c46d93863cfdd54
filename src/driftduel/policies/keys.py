"""Annotated types of constructor parameters, with ranges and help strings.

The registry checks the range of each value when a policy is built.
"""

from typing import Annotated

from driftduel.specs import Range

__all__ = ["Constant", "Failure", "Horizon", "Rate", "Width"]

Failure = Annotated[float, Range(0, 1, open=True), "failure probability"]
Horizon = Annotated[int, Range(2), "rounds T"]
Constant = Annotated[float, Range(0, open=True), "C of the threshold"]
Rate = Annotated[float, Range(0, open=True), "replays; 1 is the paper"]
Width = Annotated[float, Range(0), "width of the confidence bounds"]
