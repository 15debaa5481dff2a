"""`python -m resumed.daemon serve --workspace DIR`: starts a daemon without the command line's imports."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from resumed.daemon.interpreter import importing


def main(arguments: list[str]) -> int:
    """Run the daemon; returns the exit code."""
    # Not looking for garbage meanwhile saves a tenth of the time to the first reply.
    with importing():
        from resumed.daemon.serve import serve
    match arguments:
        case ["serve", "--workspace", root]:
            return serve(Path(root))
        case _:
            sys.stderr.write("usage: python -m resumed.daemon serve --workspace DIR\n")
            return 2


def end(code: int) -> NoReturn:
    """End the process without joining its worker threads: one that hangs would keep it, and its lock."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    end(main(sys.argv[1:]))
