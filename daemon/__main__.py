"""`python -m resumed.daemon serve --workspace DIR`: starts a daemon without the command line's imports."""

import gc
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Run the daemon; returns the exit code."""
    # What importing makes is not garbage: not looking for any saves a tenth of the time to the first reply.
    gc.disable()
    from resumed.daemon.serve import serve

    gc.freeze()
    gc.enable()
    match arguments:
        case ["serve", "--workspace", root]:
            return serve(Path(root))
        case _:
            sys.stderr.write("usage: python -m resumed.daemon serve --workspace DIR\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
