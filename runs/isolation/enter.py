"""Begins the veil: `python -I -S enter.py …`, with the words that `veil` reads.

Python compiles a script at each start, but keeps what it imports: that saves a step milliseconds.
"""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])

import veil  # type: ignore[import-not-found]

veil.main()
