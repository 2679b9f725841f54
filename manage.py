#!/usr/bin/env python
"""Django's own entry point; `faber` is the same with FABER's exit codes."""

import sys

from faber_site.cli import main

if __name__ == "__main__":
    sys.exit(main())
