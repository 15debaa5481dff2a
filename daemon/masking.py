"""Takes secrets out of what is recorded, before it is recorded.

A secret is replaced by its kind and a short keyed hash, `[masked github token 3f2a91c0]`: equal secrets
stay equal within one installation, and nobody without its key can try out guesses. Everything else stays
as it is, and a text that was masked is not changed by masking it again.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from resumed.daemon.token_shapes import SHAPES, Shape, secret_under
from resumed.restore.events.envelope import Payload

_PASSES = 8
"""Again while something is masked: what stood beside a secret may only now be seen to be another one."""


class Masker:
    """Masks with the key of an installation, 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def text(self, text: str) -> str:
        """A text without the secrets in it. Time is linear in its length."""
        for _ in range(_PASSES):
            masked = text
            for shape in SHAPES:
                if any(needle in masked for needle in shape.needles):
                    masked = self._without(shape, masked)
            if masked == text:
                break
            text = masked
        return text

    def value(self, value: Any) -> Any:
        """A JSON value without the secrets in it, in keys too, however deep it is nested; what is under
        a name of a secret is one when it looks generated."""
        result: list[Any] = [None]
        due: list[tuple[Any, Any, str, Any]] = [(result, 0, "", value)]
        while due:
            place, at, name, item = due.pop()
            if isinstance(item, str):
                place[at] = self._under(name, item)
            elif isinstance(item, Mapping):
                # Entered in order now, so that the order of keys stays.
                place[at] = made = {self.text(key): None for key in item}
                due += [(made, self.text(key), key, inner) for key, inner in item.items()]
            elif isinstance(item, list | tuple):
                place[at] = row = [None] * len(item)
                due += [(row, number, name, inner) for number, inner in enumerate(item)]
            else:
                place[at] = item
        return result[0]

    def payload(self, payload: Payload, fields: tuple[str, ...]) -> Payload:
        """An event's payload without secrets in the named fields."""
        given = {name: msgspec.to_builtins(getattr(payload, name)) for name in fields}
        masked = {name: self.value(before) for name, before in given.items()}
        changed = {name: after for name, after in masked.items() if after != given[name]}
        if not changed:
            return payload
        return msgspec.convert(msgspec.to_builtins(payload) | changed, type(payload))

    def keyed(self, canonical: bytes) -> str:
        """A hash of arguments that hold secrets: nobody without the key can try out guesses."""
        return hmac.new(self._key, b"arguments\0" + canonical, hashlib.sha256).hexdigest()

    def _under(self, name: str, text: str) -> str:
        found = secret_under(name, text)
        if found is None:
            return self.text(text)
        kind, secret = found
        return text.removesuffix(secret) + self._mask(kind, secret)

    def _without(self, shape: Shape, text: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            if not shape.accept(match):
                return match[0]
            start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
            return match[0][:start] + self._mask(shape.kind, match["secret"]) + match[0][end:]

        return shape.pattern.sub(replaced, text)

    def _mask(self, kind: str, secret: str) -> str:
        told = hmac.new(self._key, b"mask\0" + secret.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"[masked {kind} {told.hexdigest()[:8]}]"
