"""Measurements behind the tables of the documentation; ``make help`` lists the targets."""
