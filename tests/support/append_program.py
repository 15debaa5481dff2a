"""A program that opens a thread's stream in a folder and appends messages; it prints each seq as soon
as it is acknowledged. Arguments: the folder, the first message's number and the last's."""

import sys
from pathlib import Path

from tests.support.streams import appender, entry, meta, stream_home


def main() -> None:
    """Append one event per group, so that every passage of a failpoint is between two groups."""
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with appender(stream_home(folder)) as opened:
        groups = [(meta(event_id="meta"),), *((entry(f"m{n}", f"m{n}"),) for n in range(first, last + 1))]
        for group in groups:
            (outcome,) = opened.commit([group])
            if isinstance(outcome, Exception):
                raise outcome
            print(group[0].event_id, flush=True)


if __name__ == "__main__":
    main()
