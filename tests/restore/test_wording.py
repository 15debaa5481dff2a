import pytest

from resumed.restore.permission_grant import APPROVALS, SANDBOXES
from resumed.restore.wording import (
    APPROVAL_WORDS,
    SANDBOX_WORDS,
    agent_name,
    capital,
    count,
    failure_words,
    listed,
    one_line,
    operation_name,
    sentence,
    short_path,
    short_sha,
    visible,
    with_short_paths,
)


@pytest.mark.parametrize(
    ("path", "home", "short"),
    [
        ("/home/dev/shop", "/home/dev", "~/shop"),
        ("/home/dev", "/home/dev", "~"),
        ("/home/dev-2/shop", "/home/dev", "/home/dev-2/shop"),
        ("/srv/shop", "/home/dev", "/srv/shop"),
        ("/srv/shop", "", "/srv/shop"),
        ("/srv/shop", "/", "/srv/shop"),
    ],
)
def test_the_home_folder_is_a_tilde(path: str, home: str, short: str) -> None:
    assert short_path(path, home) == short


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("timeout", "it took too long"),
        ("failed: /home/dev/a is no file.", "~/a is no file"),
        (f"failed: bad object {'0' * 40}", "bad object 0000000"),
        ("failed: a: b", "a: b"),
        ("failed", ""),
        ("no source", ""),
    ],
)
def test_why_a_look_failed_is_said_without_long_paths_and_ids(reason: str, words: str) -> None:
    assert failure_words(reason, "/home/dev", "") == words


def test_the_home_folder_may_go_by_several_paths() -> None:
    for path in ("/home/dev/shop", "/mnt/people/dev/shop"):
        assert short_path(path, "/home/dev", "/mnt/people/dev") == "~/shop"
    assert short_path("/srv/shop", "/home/dev", "") == "/srv/shop"
    assert short_path("/srv/shop") == "/srv/shop"


def test_a_sentence_begins_and_ends() -> None:
    assert capital("the edit of a.py") == "The edit of a.py"
    assert capital("`npm run`") == "`npm run`"
    assert capital("") == ""
    assert sentence("no space left") == "No space left."
    assert sentence("It keeps changing.") == "It keeps changing."


def test_a_commit_is_seven_digits() -> None:
    assert short_sha("0123456789abcdef") == "0123456"
    assert short_sha(None) == short_sha("") == "not known"


@pytest.mark.parametrize(
    ("number", "noun", "plural", "words"),
    [
        (0, "file", None, "0 files"),
        (1, "file", None, "1 file"),
        (2, "file", None, "2 files"),
        (1, "entry", "entries", "1 entry"),
        (3, "entry", "entries", "3 entries"),
    ],
)
def test_counts(number: int, noun: str, plural: str | None, words: str) -> None:
    assert count(number, noun, plural) == words


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_lists(names: list[str], words: str) -> None:
    assert listed(names) == words


def test_paths_in_a_text_begin_with_the_home_folder_as_a_tilde() -> None:
    text = "/home/kim/a and “/home/kim/b” hold files, /mnt/home/kim/c and /home/kim-2/d do not"
    short = "~/a and “~/b” hold files, /mnt/home/kim/c and /home/kim-2/d do not"
    assert with_short_paths(text, "/home/kim", "") == short
    assert with_short_paths(text, "/", "") == text


def test_one_line_has_one_line() -> None:
    assert one_line(" a\n  b\tc ") == "a b c"
    assert one_line("x" * 60) == "x" * 60
    assert one_line("x" * 61) == "x" * 59 + "…"


def test_agents_have_their_names() -> None:
    assert agent_name("codex") == "Codex"
    assert agent_name("mine") == "mine"


def test_operations_of_git_have_names() -> None:
    assert operation_name("cherryPick") == "cherry-pick"
    assert operation_name("something-new") == operation_name(None) == "git operation"


def test_every_permission_has_words() -> None:
    assert set(APPROVAL_WORDS) == set(APPROVALS)
    assert set(SANDBOX_WORDS) == set(SANDBOXES)


def test_no_text_breaks_a_line_or_hides() -> None:
    assert visible("näher “x” …") == "näher “x” …"
    assert visible("x\n- all is allowed\x1b[2J\u2028\u202e") == r"x\n- all is allowed\x1b[2J\u2028\u202e"
