"""Secrets are found by form, by name and by randomness; ordinary engineering text is left alone."""

from __future__ import annotations

import base64
import random
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import PROJECT

from decapod_py.domain.secrets import Secret, find_secrets
from decapod_py.foundation.errors import Misused

ORDINARY = (PROJECT / "tests" / "data" / "ordinary_lines.txt").read_text().splitlines()

# Tokens are put together here, from a fixed seed: no file of ours holds one that a forge's scanner would stop at.
_CHANCE = random.Random(20260301)
LETTERS = string.ascii_letters
DIGITS_AND_LETTERS = string.ascii_letters + string.digits
BASE64 = DIGITS_AND_LETTERS + "+/"
HEX = "0123456789abcdef"


def chance(length: int, alphabet: str = DIGITS_AND_LETTERS) -> str:
    """A random word that has small letters, capitals and digits where its alphabet has them."""
    kinds = [
        kind for kind in (string.ascii_lowercase, string.ascii_uppercase, string.digits) if set(kind) & set(alphabet)
    ]
    while True:
        word = "".join(_CHANCE.choice(alphabet) for _ in range(length))
        if all(set(word) & set(kind) for kind in kinds):
            return word


def pem(name: str) -> str:
    lines = "\n".join(chance(64, BASE64) for _ in range(4))
    return f"-----{'BEGIN'} {name}-----\n{lines}\n-----{'END'} {name}-----\n"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def web_token() -> str:
    parts = [
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"4711"}')
    ]
    return ".".join([*parts, chance(43)])


KEY40 = chance(40, BASE64).replace("/", "b")

KNOWN = [
    ("AWS access key", "AKIA" + chance(16, string.ascii_uppercase + "234567"), "aws id {}"),
    ("AWS access key", "ASIA" + chance(16, string.ascii_uppercase + "234567"), '"AccessKeyId": "{}",'),
    ("AWS secret key", KEY40, "aws_secret_access_key = {}"),
    ("AWS secret key", KEY40, '"SecretAccessKey": "{}"'),
    ("AWS secret key", KEY40, "export AWS_SECRET_ACCESS_KEY={}"),
    *(("GitHub token", f"gh{kind}_" + chance(36), "clone with {} please") for kind in "pousr"),
    ("GitHub fine-grained token", "github_pat_" + chance(22) + "_" + chance(59), "GH_TOKEN={}"),
    ("GitLab token", "glpat-" + chance(20), "PRIVATE-TOKEN: {}"),
    ("GitLab token", "gldt-" + chance(20), "deploy token {}"),
    ("Slack token", "xoxb-" + chance(12, string.digits) + "-" + chance(24), "slack {}"),
    ("Slack token", f"xapp-1-{chance(11, string.ascii_uppercase)}-{chance(13, string.digits)}-{chance(40, HEX)}", "{}"),
    ("Slack webhook", "hooks.slack" + ".com/services/T0A1B2C3D/B0A1B2C3D/" + chance(24), "post to https://{} then"),
    ("Discord webhook", "discord" + ".com/api/webhooks/" + chance(18, string.digits) + "/" + chance(68), "https://{}"),
    ("Google API key", "AIza" + chance(35), "https://maps.googleapis.com/maps/api/js?key={}&v=3"),
    ("Google OAuth token", "ya29." + chance(60), "{}"),
    ("Google OAuth token", "GOCSPX-" + chance(28), "client: {}"),
    ("Stripe key", "sk_" + "live_" + chance(24), "stripe: {}"),
    ("Stripe key", "rk_" + "test_" + chance(24), "stripe: {}"),
    ("OpenAI key", "sk-" + chance(48), "openai: {}"),
    ("OpenAI key", "sk-proj-" + chance(64), "OPENAI: {}"),
    ("Anthropic key", "sk-" + "ant-api03-" + chance(90), "anthropic: {}"),
    ("npm token", "npm_" + chance(36), "//registry.npmjs.org/ {}"),
    ("PyPI token", "pypi-" + "AgEIcHlwaS5vcmc" + chance(80), "twine: {}"),
    ("Hugging Face token", "hf_" + chance(34, LETTERS), "hub: {}"),
    ("Twilio key", "SK" + chance(32, HEX), "twilio: {}"),
    ("Twilio key", chance(32, HEX), "TWILIO_AUTH = {}"),
    ("SendGrid key", "SG." + chance(22) + "." + chance(43), "mail: {}"),
    ("Azure key", "AccountKey=" + chance(86, BASE64) + "==", "EndpointsProtocol=https;AccountName=a;{};Suffix=b"),
    ("Azure key", "SharedAccessKey=" + chance(43, BASE64) + "=", "Endpoint=sb://a.servicebus.windows.net/;{}"),
    ("Azure access signature", "sig=" + chance(43) + "%3D", "https://a.blob.core.windows.net/c?sv=2022-11-02&{}"),
    ("Azure client secret", chance(3) + "8Q~" + chance(34), "azure: {}"),
    ("DigitalOcean token", "dop_" + "v1_" + chance(64, HEX), "{}"),
    ("Shopify token", "shpat_" + chance(32, HEX), "{}"),
    ("Databricks token", "dapi" + chance(32, HEX), "{}"),
    ("Vault token", "hvs." + chance(90), "{}"),
    ("Docker token", "dckr_pat_" + chance(27), "{}"),
    ("Atlassian token", "ATATT3" + chance(180), "{}"),
    ("Grafana token", "glsa_" + chance(32) + "_" + chance(8, HEX), "{}"),
    ("age key", "AGE-SECRET-KEY-1" + chance(58, string.ascii_uppercase + string.digits), "{}"),
    ("JSON web token", web_token(), "cookie session={}"),
    ("password in a URL", "hunter-" + chance(6), "postgres://app:{}@db.internal:5432/app"),
    ("password in a URL", chance(12), "git clone https://ci:{}@git.internal/x.git"),
    ("password in a URL", "swordfish", "amqp://worker:{}@rabbit/"),
    ("password in a URL", chance(12), "redis://:{}@cache:6379/0"),
    ("bearer token", chance(32), "curl -H 'Authorization: Bearer {}' https://api"),
    ("basic authorization", encoded("ada:" + chance(10)), "Authorization: Basic {}"),
    ("assigned secret", chance(12), 'password = "{}"'),
    ("assigned secret", "hunter2", "db_password: '{}'"),
    ("assigned secret", chance(12), "DB_PASSWORD={}"),
    ("assigned secret", chance(10), "spring.datasource.password={}"),
    ("assigned secret", chance(20), '{{"api_key": "{}"}}'.replace("{{", "{").replace('"}}', '"}')),
    ("assigned secret", chance(24, HEX), "client_secret: {}"),
    ("assigned secret", chance(14), "  apiKey: '{}',"),
    ("assigned secret", chance(12), "Server=db;User Id=sa;Password={};Encrypt=true"),
    ("assigned secret", chance(16), "//registry.npmjs.org/:_authToken={}"),
    ("assigned secret", "Tr0ub4dor&3", 'PASSWD => "{}"'),
    ("assigned secret", chance(16), "https://api.internal/v1?access_token={}&page=2"),
    ("secret in an option", chance(12), "mysql --password {} --host db"),
    ("secret in an option", chance(12), "deploy --auth-token={}"),
    ("high entropy", chance(40, BASE64), "the key is {} for now"),
    ("high entropy", chance(32), "K={}"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "secret", "line"), KNOWN, ids=[f"{kind}-{number}" for number, (kind, *_) in enumerate(KNOWN)]
)
def test_a_secret_is_found_with_its_place_and_never_shown(kind: str, secret: str, line: str) -> None:
    text = "Something to know.\n\n" + line.replace("{}", secret) + "\nMore of it."

    (found,) = find_secrets(text)

    assert (found.kind, found.line, found.column) == (kind, 3, line.index("{}") + 1)
    assert found.shown == secret[: min(4, len(secret) // 4)] + "…"


@pytest.mark.parametrize(
    "name",
    [f"{of}PRIVATE KEY" for of in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")] + ["PGP PRIVATE KEY BLOCK"],
)
def test_a_private_key_block_is_one_secret(name: str) -> None:
    assert find_secrets(f"Here:\n{pem(name)}done") == [Secret("private key", 2, 1, "----…")]


def test_a_private_key_is_found_inside_json_and_inside_base64() -> None:
    key = pem("RSA PRIVATE KEY")

    assert [one.kind for one in find_secrets('{"key": "' + key.replace("\n", "\\n") + '"}')] == ["private key"]
    assert [one.kind for one in find_secrets("client-key-data: " + encoded(key))] == ["private key"]


def test_a_private_key_that_is_cut_off_is_found_too() -> None:
    assert find_secrets(pem("PRIVATE KEY")[:120])[0].kind == "private key"


@pytest.mark.parametrize(
    "name", ["CERTIFICATE", "PUBLIC KEY", "PGP PUBLIC KEY BLOCK", "PGP SIGNATURE", "CERTIFICATE REQUEST"]
)
def test_a_public_block_is_no_secret(name: str) -> None:
    assert find_secrets(f"Trust this:\n\n{pem(name)}\n") == []


def test_data_is_no_secret() -> None:
    picture = encoded(chance(900))
    lines = "\n".join(chance(76, BASE64) for _ in range(20))

    assert find_secrets(f"![x](data:image/png;base64,{picture})") == []
    assert find_secrets(f'<img src="data:image/gif;base64,{chance(120, BASE64)}">') == []
    assert find_secrets(f"attachment:\n{lines}\n") == []


@pytest.mark.parametrize("length", [32, 43, 64])
@pytest.mark.parametrize(
    "form",
    ["sha256-{}=", "sha512-{}==", "sha384-{}", "SHA256:{}", "h1:{}=", "sha256={}", "ssh-ed25519 AAAAC3NzaC1lZDI1{}"],
)
def test_a_digest_or_a_public_key_is_no_secret(form: str, length: int) -> None:
    length = 43 if form.startswith("h1") else length
    assert find_secrets(f"integrity {form.format(chance(length, BASE64))} ok") == []


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_text_is_no_secret(line: str) -> None:
    assert find_secrets(line) == []


def test_there_are_hundreds_of_ordinary_lines() -> None:
    assert len(set(ORDINARY)) == len(ORDINARY) > 300
    assert find_secrets("\n".join(ORDINARY)) == []


@given(st.lists(st.sampled_from(HEX), min_size=40, max_size=128).map("".join))
def test_a_hash_is_no_secret(digest: str) -> None:
    assert find_secrets(f"fixed in {digest}, see {digest.upper()}") == []


def test_most_random_tokens_are_found() -> None:
    found = {
        length: sum(bool(find_secrets(f"x {chance(length, BASE64)} y")) for _ in range(300))
        for length in (24, 32, 40, 64)
    }

    assert found[24] > 250
    assert found[64] > 280
    assert found[64] > found[24] - 10  # chance decides about the last few


@given(st.text(max_size=300))
def test_any_text_is_searched(text: str) -> None:
    for secret in find_secrets(text):
        lines = text.split("\n")
        assert 1 <= secret.line <= len(lines)
        assert 1 <= secret.column <= len(lines[secret.line - 1])


def test_a_secret_keeps_its_place_behind_a_letter_that_grows_when_small() -> None:
    (found,) = find_secrets("\u0130\u0130\u0130 password = '" + "hunter2000" + "'")

    assert (found.column, found.shown) == (17, "hu…")


def test_two_kinds_at_one_place_are_told_once_by_the_more_telling() -> None:
    token = "ghp_" + chance(36)

    assert [one.kind for one in find_secrets(f'token = "{token}"\nAuthorization: Bearer {token}')] == [
        "GitHub token"
    ] * 2


def test_what_the_policy_allows_is_no_secret() -> None:
    one, other = "test-" + chance(20), "live-" + chance(20)

    assert len(find_secrets(f"token = '{one}'\ntoken = '{other}'")) == 2
    assert [s.line for s in find_secrets(f"token = '{one}'\ntoken = '{other}'", ["test-.*"])] == [2]
    assert len(find_secrets(f"token = '{one}'", ["test-"])) == 1, "a pattern matches the whole value or nothing"


def test_a_catastrophic_pattern_of_the_policy_is_named_and_the_secret_is_not() -> None:
    secret = "a1b2c3d4" * 8 + "!"

    with pytest.raises(Misused) as refused:
        find_secrets(f"password = '{secret}'", [r"(\w|\w\w)+$"])
    assert refused.value.code == "pattern-timeout"
    assert refused.value.hint == "rewrite [secrets] allow in .decapod/config.toml"
    assert repr(r"(\w|\w\w)+$") in refused.value.message
    assert secret not in refused.value.message

    with pytest.raises(Misused) as refused:
        find_secrets(f"password = '{secret}'", ["("])
    assert refused.value.code == "bad-config"


HOSTILE = {
    "a letter": "a",
    "begin": "-----BEGIN",
    "private": f"-----{'BEGIN'} PRIVATE KEY-----\n",
    "web token": "eyJ",
    "web tokens": "eyJaaaaaaaaa.",
    "password": "password=",
    "quoted": "password='",
    "url": "://a:",
    "amazon": "aws ",
    "option": "--a-",
    "names": "token=a-a-a-a-a-a-a-a-a-a-a-a-a-! ",
    "line": "\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_takes_time_in_proportion(piece: str) -> None:
    short, long = (_seconds(piece * (size // len(piece))) for size in (250_000, 2_000_000))

    assert long < max(0.2, 8 * short * 4), "eight times the text may not take four times eight times as long"


@pytest.mark.slow
def test_five_megabytes_of_base64_are_searched_in_seconds() -> None:
    data = base64.b64encode(_CHANCE.randbytes(3_700_000)).decode()

    assert _seconds(data) < 5
    assert find_secrets(data) == []


@pytest.mark.slow
def test_ten_thousand_ordinary_texts_take_less_than_a_second() -> None:
    files = [*(PROJECT / "docs").glob("*.md"), *(PROJECT / "decapod_py").rglob("*.py")]
    everything = "\n".join(file.read_text() for file in sorted(files))
    texts = [everything[start : start + 1_000] for start in range(0, 300_000, 1_000)]
    find_secrets("\n".join(ORDINARY))  # compiles what there is to compile

    # At the best of five: other tests run at the same time.
    assert min(sum(_seconds(text) for text in texts) for _ in range(5)) / len(texts) * 10_000 < 1


def _seconds(text: str) -> float:
    start = time.perf_counter()
    find_secrets(text)
    return time.perf_counter() - start
