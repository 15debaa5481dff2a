"""Prints the figures that matter beside their anchors, all measured in this one run.

The product is measured from a wheel, as a user has it. Nothing here fails on a time: only ratios
within one table mean anything.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks import appending, listing, resuming, starting, storing
from tests.benchmarks.measure import Figure
from tests.support.environment import hermetic


def main() -> int:
    """Build a wheel, measure, print one table."""
    with tempfile.TemporaryDirectory(prefix="resumed-bench-") as folder:
        base = Path(folder)
        home = base / "home"
        home.mkdir()
        runtime = base / "r"
        clean = hermetic(os.environ, home, runtime)
        os.environ.clear()
        os.environ.update(clean)
        os.environ["PYTHONPATH"] = str(_installed(base))
        figures: list[Figure] = []
        for part in (starting, listing, resuming, appending, storing):
            figures += asyncio.run(part.figures(base))
        _print(figures)
    return 0


def _installed(base: Path) -> Path:
    """The project as a wheel, unpacked where children look first."""
    root = Path(__file__).resolve().parents[2]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(base / "wheel"), str(root)],
        check=True,
        timeout=300,
    )
    (wheel,) = (base / "wheel").glob("*.whl")
    site = base / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True, timeout=300)
    return site


def _print(figures: list[Figure]) -> None:
    table = Table(title="resumed, measured in this run")
    for column in ("what", "measured", "anchor in this run", "ratio", "goal"):
        table.add_column(column, overflow="fold")
    for figure in figures:
        table.add_row(figure.what, figure.measured, figure.anchor, figure.ratio, figure.goal)
    Console(width=150).print(table)


if __name__ == "__main__":
    sys.exit(main())
