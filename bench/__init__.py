"""How fast it is, on record: `make bench`, which rewrites docs/performance.md.

A benchmark is a file of this folder with one public function of the same name, which takes
nothing and returns a `Table`; it stands in `BENCHMARKS` of `bench.__main__`.
"""
