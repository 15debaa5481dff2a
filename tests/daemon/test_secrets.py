"""Which files are secret, and what is kept of them: never their content."""

from pathlib import Path

import pytest

from resumed.daemon.secrets import FileContents, SecretFiles, SecretKept, fingerprint
from resumed.daemon.storage.blob_rows import BlobFound, BlobTooLarge
from resumed.daemon.storage.layout import Layout
from tests.support.blobs import kept, names
from tests.support.clock import FakeClock

KEY = b"k" * 32


def nothing_ignored(path: str) -> bool:
    return False


@pytest.mark.parametrize(
    "path",
    [
        ".env", ".env.local", "app/.env.production", ".ENV", "prod.env", "certs/server.pem", "server.KEY",
        "id_rsa", "home/.ssh/config", "id_ed25519.old", ".npmrc", ".netrc", "infra/main.tfvars",
        "terraform.tfstate.backup", "google-credentials.json", ".aws/credentials", "a/token", "github_token",
        ".kube/config", "config/master.key", "token/.env", "secrets.yaml", "caf\udce9/.env",
    ],
)  # fmt: skip
def test_a_file_of_secrets_is_known_by_its_name(path: str) -> None:
    assert SecretFiles(nothing_ignored).holds(path)


@pytest.mark.parametrize(
    "path",
    [
        "environment.py", "src/env.ts", "token/lexer.go", "src/tokens.py", "refresh_token/index.ts",
        "keys.md", "id_rsa.pub",
        "src/secrets.py", "credentials/README.md", "docs/envelope.md", "monkey", "a.pemx",
    ],
)  # fmt: skip
def test_an_ordinary_file_is_not(path: str) -> None:
    assert not SecretFiles(nothing_ignored).holds(path)


def test_what_git_ignores_is_secret_and_what_a_person_chose_is_not() -> None:
    files = SecretFiles(lambda path: path.startswith("build/"), ["build/report.txt", "/.env.example"])
    assert files.holds("build/out.bin")
    assert not files.holds("src/a.py")
    assert not files.holds("build/report.txt")
    assert not files.holds(".env.example")
    assert files.holds("sub/.env.example")


async def test_of_a_secret_only_a_fingerprint_is_kept(tmp_path: Path) -> None:
    layout = Layout.open(tmp_path)
    async with kept(layout, FakeClock(), limit=20) as blobs:
        contents = FileContents(blobs, SecretFiles(nothing_ignored, ["ours.env"]), KEY)
        plain = await contents.keep("a.py", b"print(1)")
        assert isinstance(plain, str)
        secret = await contents.keep(".env", b"PASSWORD=hunter2")
        assert secret == SecretKept(fingerprint(KEY, ".env", b"PASSWORD=hunter2"))
        chosen = await contents.keep("ours.env", b"A=1")
        assert isinstance(chosen, str)
        assert await contents.keep("large.py", b"x" * 21) == BlobTooLarge(21, 20)
        assert await contents.keep("large.pem", b"x" * 21) == SecretKept(
            fingerprint(KEY, "large.pem", b"x" * 21)
        )
        assert await blobs.get(plain) == BlobFound(b"print(1)")
        assert names(layout) == {plain, chosen}
    assert not [path for path in layout.home.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


def test_a_fingerprint_is_of_key_path_and_content() -> None:
    told = {
        fingerprint(key, path, data)
        for key in (KEY, b"o" * 32)
        for path, data in (
            (".env", b"a"),
            (".env", b"b"),
            ("x/.env", b"a"),
            (".enva", b""),
            (".\udcff", b"a"),
        )
    }
    assert len(told) == 10
    assert fingerprint(KEY, ".env", b"a") == fingerprint(KEY, ".env", b"a")
    assert all(len(one) == 64 for one in told)
    with pytest.raises(ValueError, match="32 bytes"):
        fingerprint(b"", ".env", b"a")
