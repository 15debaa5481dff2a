"""Codex recordings in tests: where they are, put into a Codex home, and made large.

The recordings themselves are never changed; what a test needs rewritten is rewritten in a copy.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parents[1] / "recordings" / "codex"
BUNDLE = RECORDINGS / "0.171.0" / "scratch-repo.bundle"
AS_LEFT = RECORDINGS / "0.171.0" / "as-left"
ORIGIN = "https://example.invalid/acme/scratch.git"
NAMES = tuple(sorted(path.stem for path in RECORDINGS.glob("*/*.jsonl")))
_LEFT_OUT = re.compile(rb"\[(\d+) characters left out\]")
_SHA = re.compile(rb'"commit_hash":"[0-9a-f]{40}"')


def recording(name: str) -> Path:
    """The recording of this name, as it was written."""
    (path,) = RECORDINGS.glob(f"*/{name}.jsonl")
    return path


def install_recording(
    name: str, codex_home: Path, replacements: dict[str, str] | None = None, sha: str | None = None
) -> Path:
    """Copy a recording into a Codex home under its real file name; returns the copy.

    `replacements` maps recorded folders to real ones; `sha` is put in the place of recorded commits.
    """
    content = rewritten(recording(name).read_bytes(), replacements or {})
    if sha is not None:
        content = _SHA.sub(f'"commit_hash":"{sha}"'.encode(), content)
    meta = json.loads(content.partition(b"\n")[0])["payload"]
    date, _, clock = meta["timestamp"].partition(".")[0].partition("T")
    folder = codex_home.joinpath("sessions", *date.split("-"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-{date}T{clock.replace(':', '-')}-{meta['id']}.jsonl"
    path.write_bytes(content)
    return path


def rewritten(content: bytes, replacements: dict[str, str]) -> bytes:
    """The content with folders replaced, longest first, only where the folder's name ends."""
    for old in sorted(replacements, key=len, reverse=True):
        new = json.dumps(replacements[old])[1:-1].encode().replace(b"\\", rb"\\")
        content = re.sub(re.escape(old).encode() + rb'(?=[/"]|$)', new, content)
    return content


def build_scratch_repo(folder: Path) -> tuple[Path, Path]:
    """Make the repository of the bundle recordings as the last of them left it.

    Returns the main checkout (on `fix/payment`) and the linked one (on `wt/export`).
    """
    repo, linked = folder / "repo", folder / "repo-wt"
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "clone", "--quiet", "-b", "fix/payment", str(BUNDLE), "repo")
    git(repo, "remote", "set-url", "origin", ORIGIN)
    git(repo, "branch", "main", "origin/main")
    git(repo, "worktree", "add", "--quiet", str(linked), "wt/export")
    shutil.copytree(AS_LEFT / "repo", repo, dirs_exist_ok=True, copy_function=shutil.copyfile)
    shutil.copytree(AS_LEFT / "repo-wt", linked, dirs_exist_ok=True, copy_function=shutil.copyfile)
    for path in (repo, linked):
        path.chmod(0o755)
    return repo, linked


def git(folder: Path, *arguments: str) -> str:
    """Run git apart from any configuration of the machine; returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


def generate_rollout(path: Path, megabytes: int, name: str = "v171_resumed") -> int:
    """Write a large rollout by repeating a recording's turns with fresh ids; returns its turns.

    Texts that were left out of the recording are there again at their length; ordinals go on.
    """
    lines = [json.loads(_left_in(line)) for line in recording(name).read_bytes().splitlines()]
    head, rest = lines[0], lines[1:]
    ordinal, turns = 0, 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as target:
        target.write(_encoded(head))
        while target.tell() < megabytes * 1_000_000:
            for line in _with_fresh_ids(rest, turns):
                ordinal += 1
                if "ordinal" in line:
                    line["ordinal"] = ordinal
                turns += line["payload"].get("type") == "task_started"
                target.write(_encoded(line))
    return turns


def sums() -> dict[str, str]:
    """The pinned SHA-256 of every recorded file, by its path below the recordings."""
    pinned = (RECORDINGS / "SHA256SUMS").read_text().splitlines()
    return {path: digest for digest, _, path in (line.partition("  ") for line in pinned)}


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _left_in(line: bytes) -> bytes:
    return _LEFT_OUT.sub(lambda found: (b"some text " * (int(found[1]) // 10 + 1))[: int(found[1])], line)


def _with_fresh_ids(lines: list[dict[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    text = json.dumps(lines)
    fresh: dict[str, str] = {}
    space = uuid.uuid5(uuid.NAMESPACE_URL, str(number))
    for key, prefix in (("turn_id", ""), ("call_id", "call_"), ("response_id", "resp_")):
        for native in set(re.findall(rf'"{key}": "([^"]+)"', text)):
            fresh[native] = prefix + str(uuid.uuid5(space, native))
    pattern = re.compile("|".join(f'(?<="){re.escape(native)}(?=")' for native in fresh))
    yield from json.loads(pattern.sub(lambda found: fresh[found[0]], text))


def _encoded(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
