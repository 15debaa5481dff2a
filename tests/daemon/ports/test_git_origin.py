"""One spelling for a remote's address."""

import pytest

from resumed.daemon.ports.git_origin import normalise_origin

ACME = "github.com/acme/Payments"


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("https://github.com/acme/Payments.git", ACME),
        ("https://github.com/acme/Payments", ACME),
        ("https://github.com/acme/Payments/", ACME),
        ("https://github.com/acme/Payments.git/", ACME),
        ("http://user:secret@GitHub.com:8080/acme/Payments", ACME),
        ("https://token@github.com/acme/Payments.git", ACME),
        ("ssh://git@github.com/acme/Payments.git", ACME),
        ("ssh://git@github.com:22/acme/Payments.git", ACME),
        ("ssh://git@ssh.github.com:443/acme/Payments.git", ACME),
        ("git@github.com:acme/Payments.git", ACME),
        ("git@github.com:/acme/Payments", ACME),
        ("GITHUB.com:acme/Payments", ACME),
        ("git://github.com/acme/Payments", ACME),
        (" https://github.com/acme/Payments \n", ACME),
        ("git@ssh.github.com:acme/Payments.git", ACME),
        ("https://github.com/acme/payments", "github.com/acme/payments"),
        ("https://gitlab.com/group/sub/project.git", "gitlab.com/group/sub/project"),
        ("ssh://git@[2001:db8::1]:22/x/y.git", "2001:db8::1/x/y"),
        ("git@[2001:db8::1]:x/y.git", "2001:db8::1/x/y"),
        ("/srv/git/payments.git", "/srv/git/payments"),
        ("/srv/git/../git/payments/", "/srv/git/payments"),
        ("file:///srv/git/payments.git", "/srv/git/payments"),
        ("../payments", None),
        ("payments", None),
        ("https://github.com", None),
        ("https:///acme/payments", None),
        ("git@github.com:", None),
        ("/", None),
        ("", None),
    ],
)
def test_spellings(spelling: str, expected: str | None) -> None:
    assert normalise_origin(spelling) == expected
