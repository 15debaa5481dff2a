"""A program that puts a run away, or brings it back. Arguments: the state folder, the run's id, and `away`
or `back`."""

import sys
from pathlib import Path

from resumed.daemon.storage import moving
from resumed.daemon.storage.layout import Layout


def main() -> None:
    """Move the files and end."""
    moving.settle(Layout.open(Path(sys.argv[1])), sys.argv[2], archived=sys.argv[3] == "away")


if __name__ == "__main__":
    main()
