"""What secrets look like: the shapes of known tokens, and values that an assignment gives away.

Every pattern has fixed text that is searched for first, and never goes back over what it has read: time is
linear in the text, whatever it holds. None begins in the middle of a word, since it would then depend on
what was masked before it. A shape that ordinary text may have is looked at once more before it counts.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

Accept = Callable[[re.Match[str]], bool]


class Shape(NamedTuple):
    """A kind of secret: `needles`, one of which its text must hold; `pattern`, whose group `secret` is the
    secret; `accept`, the second look."""

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Accept


_LEAST_CHANGES = 0.4
"""Changes between small, capital and other letters and digits, per character: random text has 0.6, the
names that people give to things have less than 0.3."""

_NAMED = re.compile(
    r"(?:pass(?:word|wd|phrase)|secret|token|credential|(?:api|access|private|secret|auth)[_-]?key)s?\Z", re.I
)
_ENDINGS = ("assword", "asswd", "assphrase", "ecret", "oken", "redential", "key", "Key")
_NO_SECRET = ("page", "next", "continuation", "sync", "public", "csrf", "max")
_SCHEMES = r"(?:[Bb]earer|[Bb]asic|[Tt]oken|[Dd]igest|BEARER|BASIC|TOKEN)"
_SCHEMED = re.compile(rf"(?:(?P<scheme>{_SCHEMES})[ \t]+)?(?P<secret>[A-Za-z0-9+/_=.~:-]{{8,}})")
_GAP = r"(?:[\s>|]|\\[nrt]|\d{1,6}(?=[\t→:|])[\t→:|])"
_GITLAB_USES = ("pat", "ptt", "soat", "cbt", "oas", "agent", "imt", "dt", "rt", "ft")
_ONE_WORD = re.compile(r"[A-Za-z0-9+/_.~=-]+")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")


def is_random(value: str) -> bool:
    """Whether a value is more like a generated secret than like a name, a path or a number."""
    if len(value) < 20:
        return False
    digits = sum(character.isdecimal() for character in value)
    letters = sum(character.isalpha() for character in value)
    if _HEX.fullmatch(value):
        return min(digits, letters) >= 4
    kinds = [_class(character) for character in value]
    # What joins the words of a name is no change.
    changes = sum(before != after and "joint" not in (before, after) for before, after in pairwise(kinds))
    return {"small", "capital", "digit"} <= set(kinds) and changes >= _LEAST_CHANGES * len(value)


def secret_under(name: str, value: str) -> tuple[str, str] | None:
    """The kind and the secret part of a value that is kept under a name, where the name says that it is
    one."""
    if name.lower().endswith("authorization"):
        match = _SCHEMED.fullmatch(value)
        return ("authorization", match["secret"]) if match and _authorized(match) else None
    named = _names_secret(name) and _ONE_WORD.fullmatch(value)
    return ("credential", value) if named and is_random(value) else None


def _class(character: str) -> str:
    if character.isdecimal():
        return "digit"
    if character.islower():
        return "small"
    return "capital" if character.isupper() else "joint"


def _always(match: re.Match[str]) -> bool:
    return True


def _has_digit(match: re.Match[str]) -> bool:
    return any(character.isdecimal() for character in match["secret"])


def _api_key(match: re.Match[str]) -> bool:
    body = match["secret"][3:]
    if body.startswith(("proj-", "svcacct-", "admin-", "ant-", "or-v1-")):
        return _has_digit(match)
    return is_random(body)


def _credential(scheme: str | None, secret: str) -> bool:
    """What follows a scheme is a credential unless it is a plain word, as in a description of one."""
    if scheme is None:
        return is_random(secret)
    return scheme.lower() == "basic" or not secret.isalpha() or len(secret) >= 24


def _authorized(match: re.Match[str]) -> bool:
    return _credential(match["scheme"], match["secret"])


def _password(match: re.Match[str]) -> bool:
    """Not a variable's name in the place of a password."""
    return not match["secret"].startswith(("$", "{", "*", "%(", "%s"))


def _names_secret(name: str) -> bool:
    named = _NAMED.search(name)
    return named is not None and not name[: named.start()].lower().rstrip("_-").endswith(_NO_SECRET)


def _assigned(match: re.Match[str]) -> bool:
    text, start, end = match.string, match.start(), match.end()
    name = text[max(0, start - 24) : match.end("word")]
    if not is_random(match["secret"]) or not _names_secret(name):
        return False
    if match["quote"]:
        return True
    # Without quotes it may be code: a call, an index, an expression with spaces around its sign.
    spaced = match["sign"].strip() == "=" and match["sign"] != "="
    return not spaced and text[end : end + 1] not in ("(", "[", "{")


def _shape(kind: str, needles: tuple[str, ...], pattern: str, accept: Accept = _always) -> Shape:
    return Shape(kind, needles, re.compile(pattern), accept)


SHAPES = (
    _shape(
        "private key",
        ("PRIVATE KEY",),
        r"(?P<secret>-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        rf"{_GAP}*+(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset)[^\n\\]{{0,200}}{_GAP}++){{0,8}}+"
        rf"[A-Za-z0-9+/=]{{16,}}+(?:{_GAP}++[A-Za-z0-9+/=]{{16,}}+)*+"
        rf"(?:{_GAP}*+[A-Za-z0-9+/=]{{0,80}}+{_GAP}*+"
        r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?+)",
    ),
    _shape(
        "url password",
        ("://",),
        r"://[^\s/:@\"'<>\[\]]{0,128}:(?P<secret>[^\s/@\"'<>\[\]]{1,256})@",
        _password,
    ),
    _shape(
        "authorization",
        ("uthorization", "UTHORIZATION"),
        r"(?:uthorization|UTHORIZATION)[\"'\\]{0,3}\s{0,8}[:=]\s{0,8}[\"'\\]{0,3}"
        rf"(?:(?P<scheme>{_SCHEMES})[ \t]{{1,8}})?(?P<secret>[A-Za-z0-9+/_=.~:-]{{8,}}+)",
        _authorized,
    ),
    _shape("github token", ("gh",), r"(?P<secret>gh[pousr]_(?<![A-Za-z0-9].{4})[A-Za-z0-9]{36,}+)"),
    _shape(
        "github token", ("github_pat_",), r"(?P<secret>github_pat_(?<![A-Za-z0-9].{11})[A-Za-z0-9_]{36,}+)"
    ),
    _shape(
        "gitlab token",
        tuple(f"gl{use}-" for use in _GITLAB_USES),
        rf"(?P<secret>(?<![A-Za-z0-9])gl(?:{'|'.join(_GITLAB_USES)})-[A-Za-z0-9_-]{{20,}}+)",
        _has_digit,
    ),
    _shape(
        "slack token",
        ("xox", "xapp-"),
        r"(?P<secret>x(?:ox[abeoprs]|app)-(?<![A-Za-z0-9].{5})[A-Za-z0-9-]{10,}+)",
        _has_digit,
    ),
    _shape(
        "slack webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_+-]{20,}+)",
    ),
    _shape(
        "anthropic key",
        ("sk-ant-",),
        r"(?P<secret>sk-ant-(?<![A-Za-z0-9].{7})[A-Za-z0-9_-]{20,}+)",
        _has_digit,
    ),
    _shape("api key", ("sk-",), r"(?P<secret>sk-(?<![A-Za-z0-9_-].{3})[A-Za-z0-9_-]{32,}+)", _api_key),
    _shape(
        "stripe key",
        ("k_live_", "k_test_"),
        r"(?P<secret>[sr]k_(?:live|test)_(?<![A-Za-z0-9].{8})[A-Za-z0-9]{16,}+)",
        _has_digit,
    ),
    _shape(
        "stripe key", ("whsec_",), r"(?P<secret>whsec_(?<![A-Za-z0-9].{6})[A-Za-z0-9+/]{32,}+)", _has_digit
    ),
    _shape(
        "aws access key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        r"(?P<secret>A(?:KIA|SIA|BIA|CCA)(?<![A-Za-z0-9+/].{4})[A-Z2-7]{16}(?![A-Za-z0-9+/]))",
    ),
    _shape(
        "google key",
        ("AIza",),
        r"(?P<secret>AIza(?<![A-Za-z0-9+/_-].{4})[A-Za-z0-9_-]{35}(?![A-Za-z0-9+/_-]))",
        _has_digit,
    ),
    _shape(
        "google token",
        ("ya29.", "GOCSPX-"),
        r"(?P<secret>(?:ya29\.(?<![A-Za-z0-9].{5})|GOCSPX-(?<![A-Za-z0-9].{7}))[A-Za-z0-9_-]{20,}+)",
    ),
    _shape(
        "json web token",
        ("eyJ",),
        r"(?P<secret>eyJ(?<![A-Za-z0-9_-].{3})[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{16,}+)",
    ),
    _shape("npm token", ("npm_",), r"(?P<secret>npm_(?<![A-Za-z0-9].{4})[A-Za-z0-9]{36,}+)"),
    _shape("pypi token", ("pypi-AgE",), r"(?P<secret>pypi-AgE(?<![A-Za-z0-9].{8})[A-Za-z0-9_-]{50,}+)"),
    _shape("hugging face token", ("hf_",), r"(?P<secret>hf_(?<![A-Za-z0-9_].{3})[A-Za-z0-9]{34,}+)"),
    _shape("sendgrid key", ("SG.",), r"(?P<secret>SG\.(?<![A-Za-z0-9].{3})[\w-]{22}\.[\w-]{43,}+)"),
    _shape(
        "digitalocean token",
        ("do",),
        r"(?P<secret>do[opr]_v1_(?<![A-Za-z0-9].{7})[a-f0-9]{64}(?![A-Za-z0-9]))",
    ),
    *(
        _shape(
            "credential",
            (ending,),
            rf"(?P<word>{ending}[sS]?)[\"'\\]{{0,3}}(?P<sign>\s{{0,4}}(?:=>|:=|=|:)\s{{0,4}})"
            r"(?P<quote>[\"'`\\]{0,3})(?P<secret>[A-Za-z0-9+/_.~-]{20,}+={0,2})",
            _assigned,
        )
        for ending in sorted({word for end in _ENDINGS for word in (end, end.upper())})
    ),
)
"""In the order in which they are masked: what holds another is first."""
