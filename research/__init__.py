"""Research material: study, benchmarks, policies of record, published records and their pages.

It is linted, type-checked and tested like the package, and not part of the wheel. Modules run from
the root of the checkout, e.g. ``python -m research.study --quick``. The package `driftduel` never
imports from here.
"""
