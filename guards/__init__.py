"""Each guard of docs/guarantees.md is taken out once, and its test must fail: `make mutate-guards`.

The page names promises and tests. A file of `mutations/` per part of the page says for each promise which lines of the
source guard it, and what stands there without the guard. A trial changes a copy of the source, never the working tree,
and runs the tests of the promise over it. Nothing here is part of what is shipped.
"""
