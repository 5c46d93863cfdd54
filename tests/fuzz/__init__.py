"""Broken inputs by the thousand: whatever comes in, a sentence comes out.

``make fuzz`` gives the command line and the readers of files 100,000 inputs, most of them broken:
specs, arguments, TOML plans, world files, saved policies, stores, notes of studies, duels as JSON,
logs of comparisons (``--surface logs`` tries only these), requests to an arena (``arena``).
Input i of seed S is always the same: ``python -m tests.fuzz --seed S --only i`` repeats it.

- `inputs` draws an input: files, and what to do with them;
- `judge` does it in a process that may be lost, and says what is wrong with what came out;
- `__main__` hands numbers of inputs to such processes, and reports.
"""
