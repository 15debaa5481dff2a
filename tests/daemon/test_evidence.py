"""Whether two sets of evidence are of the same repository."""

import pytest

from resumed.daemon.evidence import match

KNOWN = {"common_dir": "1:10", "roots": "aa,bb", "remotes": "example.com/a,example.com/b"}


@pytest.mark.parametrize(
    ("what", "seen", "expected"),
    [
        ("nothing changed", {}, "same"),
        ("the folder moved: same inode", {}, "same"),
        ("another copy fetched: roots and remote same", {"common_dir": "1:11"}, "same"),
        (
            "a fork: same root, other remote",
            {"common_dir": "1:11", "remotes": "example.com/fork"},
            "different",
        ),
        (
            "a fork that also names the original",
            {"common_dir": "1:11", "remotes": "example.com/fork,example.com/a"},
            "different",
        ),
        ("a new project at the old address", {"common_dir": "1:11", "roots": "cc"}, "different"),
        ("one more root", {"common_dir": "1:11", "roots": "aa,cc"}, "same"),
        ("the remote was renamed", {"remotes": "example.com/new"}, "same"),
        ("the history was rewritten", {"roots": "cc"}, "same"),
        ("the inode was given out again", {"roots": "cc", "remotes": "example.com/other"}, "different"),
        ("the inode was given out again, no remote", {"roots": "cc", "remotes": ""}, "different"),
        ("roots timed out", {"roots": ""}, "same"),
        ("roots timed out, other remote", {"roots": "", "remotes": "example.com/other"}, "unknown"),
        ("only the inode is known", {"roots": "", "remotes": ""}, "same"),
        ("roots timed out in another copy", {"common_dir": "1:11", "roots": ""}, "unknown"),
        ("no remote in another copy", {"common_dir": "1:11", "remotes": ""}, "unknown"),
        ("nothing could be told", {"common_dir": "", "roots": "", "remotes": ""}, "unknown"),
        ("no inode, the rest same", {"common_dir": ""}, "same"),
        ("no inode, other remote", {"common_dir": "", "remotes": "example.com/other"}, "different"),
    ],
)
def test_table(what: str, seen: dict[str, str], expected: str) -> None:
    there = {**KNOWN, **seen}
    assert match(KNOWN, there) == expected, what
    assert match(there, KNOWN) == expected, f"{what}, the other way round"


def test_missing_pieces_are_unknown() -> None:
    assert match({}, KNOWN) == "unknown"
    assert match({"common_dir": "1:10"}, KNOWN) == "same"
