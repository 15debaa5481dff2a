"""Which files hold secrets, and what is kept of them: a keyed hash, never their content.

The hash tells whether a secret has changed, and whether another one is equal, to nobody without the key
of this installation.
"""

import hashlib
import hmac
import os
from collections.abc import Callable, Iterable

import msgspec
import pathspec

from resumed.daemon.storage.blob_rows import BlobTooLarge
from resumed.daemon.storage.layout import KEY_BYTES
from resumed.daemon.storage.stores import BlobStore

SECRET_FILES = (
    "token", "*_token", "*.token", "credentials", "!token/", "!*_token/", "!credentials/",
    ".env*", "*.env",
    "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.gpg",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!id_*.pub", ".ssh/", ".gnupg/",
    "*credentials*.json", "*service-account*.json", "client_secret*.json", ".aws/", ".azure/",
    ".git-credentials", ".gitcookies", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass",
    ".my.cnf", ".dockercfg", ".docker/config.json", ".kube/", "kubeconfig*", ".htpasswd",
    "*.tfvars", "*.tfstate*", ".terraformrc", "secrets.y*ml", "secrets.json", "secrets.toml", "*.secret",
    "token.json", ".token", ".vault-token", "master.key",
)  # fmt: skip
"""Patterns in the language of `.gitignore`, matched without regard to case; a later one wins."""

_SPEC = pathspec.GitIgnoreSpec.from_lines(SECRET_FILES)


class SecretKept(msgspec.Struct, frozen=True):
    """The content was not stored; `fingerprint` is what stands for it."""

    fingerprint: str


class SecretFiles:
    """Tells which files are secret: those of `SECRET_FILES`, and those that `ignored` says git ignores.
    `opted_in` are patterns of the person's own, whose files are kept like any other."""

    def __init__(self, ignored: Callable[[str], bool], opted_in: Iterable[str] = ()) -> None:
        self._ignored = ignored
        self._opted_in = pathspec.GitIgnoreSpec.from_lines(opted_in)

    def holds(self, path: str) -> bool:
        """Whether the file's content may not be kept. `path` is relative to the work tree's root."""
        if self._opted_in.match_file(path):
            return False
        return _SPEC.match_file(path.lower()) or self._ignored(path)


class FileContents:
    """Keeps contents of files: as they are, or of secret ones only a fingerprint."""

    def __init__(self, blobs: BlobStore, secret: SecretFiles, key: bytes) -> None:
        self._blobs = blobs
        self._secret = secret
        self._key = key

    async def keep(self, path: str, data: bytes) -> str | SecretKept | BlobTooLarge:
        """Return the name of the content when it is durable, or what stands for a secret one.

        Raises `StorageFailed` or `StateReadOnly`, as `BlobStore.put` does."""
        if self._secret.holds(path):
            return SecretKept(fingerprint(self._key, path, data))
        return await self._blobs.put(data)


def fingerprint(key: bytes, path: str, data: bytes) -> str:
    """The HMAC-SHA-256 of a file's path and content, as 64 hexadecimal digits: equal contents at two paths
    are not seen to be equal. Raises `ValueError` for a key that an installation never has."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    told = hmac.new(key, b"file\0", hashlib.sha256)
    # A path has no NUL, so that no other path and content give the same bytes.
    told.update(os.fsencode(path) + b"\0")
    told.update(data)
    return told.hexdigest()
