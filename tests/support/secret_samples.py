"""Texts that are secrets, with their kind, and texts that only look like one. All of them are made up.

The secrets are put together here, so that no scanner of repositories takes them for real ones.
"""

import base64
import hashlib
import random
import string

_ALPHANUMERIC = string.ascii_letters + string.digits
_random = random.Random(7)


def _some(length: int, alphabet: str = _ALPHANUMERIC) -> str:
    # A digit and both cases are always there: one that has none is not told from a name.
    return "a1B" + "".join(_random.choices(alphabet, k=length - 3))


_HEX = string.digits + "abcdef"

SECRETS: list[tuple[str, str]] = [
    *(("github token", f"gh{kind}_{_some(36)}") for kind in "pousr"),
    ("github token", f"github_pat_{_some(22)}_{_some(59)}"),
    ("gitlab token", f"glpat-{_some(20)}"),
    ("gitlab token", f"glrt-{_some(20)}"),
    ("slack token", f"xoxb-{'1' * 12}-{'2' * 12}-{_some(24)}"),
    ("slack token", f"xapp-1-A{'0' * 10}-{'3' * 13}-{_some(40)}"),
    ("anthropic key", f"sk-ant-api03-{_some(93)}AA"),
    ("api key", f"sk-{_some(48)}"),
    ("api key", f"sk-proj-{_some(60)}"),
    ("api key", f"sk-or-v1-{hashlib.sha256(b'x').hexdigest()}"),
    ("api key", f"sk-{hashlib.md5(b'x').hexdigest()}"),
    ("stripe key", f"sk_live_{_some(24)}"),
    ("stripe key", f"rk_test_{_some(24)}"),
    ("stripe key", f"whsec_{_some(32)}"),
    ("aws access key", "AKIA" + "ABCD2345" * 2),
    ("aws access key", "ASIA" + "WXYZ6723" * 2),
    ("google key", f"AIza{_some(35)}"),
    ("google token", f"ya29.{_some(60)}"),
    ("google token", f"GOCSPX-{_some(28)}"),
    ("json web token", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{_some(43)}"),
    ("npm token", f"npm_{_some(36)}"),
    ("pypi token", f"pypi-AgE{_some(80)}"),
    ("hugging face token", f"hf_{_some(34)}"),
    ("sendgrid key", f"SG.{_some(22)}.{_some(43)}"),
    ("digitalocean token", f"dop_v1_{hashlib.sha256(b'y').hexdigest()}"),
]

_IMAGE = base64.b64encode(_random.randbytes(3000)).decode()

ORDINARY = [
    "7dd5c72c0f4e1b2a3d4c5b6a79881726354453a1",
    "commit 7dd5c72c0f4e1b2a3d4c5b6a79881726354453a1 (HEAD -> main)",
    hashlib.sha256(b"x").hexdigest(),
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    "integrity sha512-" + base64.b64encode(hashlib.sha512(b"x").digest()).decode(),
    "5973b6c0-94b8-487b-a530-2aeb6098ae0e",
    "token_id = 5973b6c0-94b8-487b-a530-2aeb6098ae0e",
    "TOKEN_SHA256=" + hashlib.sha256(b"x").hexdigest(),
    f"data:image/png;base64,{_IMAGE}",
    f'{{"type": "image", "data": "{_IMAGE}"}}',
    "max_tokens: 128000, total_tokens=1048576",
    'next_page_token: "CAoQAhoKZm9vL2JhcjEyMzQ1Njc4OTBhYmNkZUZHSA"',
    "token = parse_token(params.operation_id)",
    "access_token = await client.getAccessToken2FromCache(user)",
    "secret = config.auth.v2.SecretValueProvider",
    "token=generateAccessTokenV2FromRefreshToken",
    "password=os.environ['DB_PASSWORD']",
    "PASSWORD=changeme",
    "password: correct-horse-battery-staple-1",
    'secretName: "payments-database-credentials-v2"',
    "api_key=YOUR_API_KEY_GOES_HERE_1234",
    "Authorization: required",
    'authorization: "Bearer " + token',
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "Authorization: Bearer ${{ secrets.GITHUB_TOKEN }}",
    "https://example.com:8080/@scope/name",
    "git@github.com:kim/shop.git",
    "ssh://git@example.com:22/shop.git",
    "https://user:$PASSWORD@example.com",
    "https://user:${PASSWORD}@example.com",
    "npm_config_registry=https://example.com",
    "npm_package_dependencies_left_pad_version_one",
    "ghp_short",
    "laughs_gho_st",
    "sk-learn-is-a-library-for-machine-learning-2",
    ".sk-cube-grid .sk-cube-grid-delay-animation-2",
    "task-proj-1-a-very-long-name-of-a-branch-that-goes-on",
    "risk_test_cases1234567890abcdef",
    "AKIA is how an access key begins",
    "xoxo-gossip-girl",
    "eyJ0.eyJ1.x",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END CERTIFICATE-----",
    "a file that begins with -----BEGIN PRIVATE KEY----- holds a key",
    "SG.short.one",
    "dop_v1_function",
    "hf_hub_download(repo_id=x)",
    "SECRET_KEY_BASE is missing; set SECRET_KEY=... first",
]
