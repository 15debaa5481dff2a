"""The version of the installed program, kept here since reading package metadata costs 20 ms at start.

A test holds it equal to `pyproject.toml`.
"""

VERSION = "0.1.0"
