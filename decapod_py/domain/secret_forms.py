"""The forms that the secrets of well-known services have, and what people write where a secret would stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Form(NamedTuple):
    kind: str
    literals: str  # separated by blanks: without one of them in the text, the pattern need not be tried
    pattern: str


SHORTEST = 20  # characters without a blank, in every form

# What repeats is bounded or never given back (`++`), so that no text makes a pattern slow.
FORMS = (
    Form("AWS access key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![\w-])"),
    Form("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}+"),
    Form("GitHub fine-grained token", "github_pat_", r"github_pat_\w{22,255}+"),
    Form(
        "GitLab token",
        "glpat- glptt- gldt- glrt- glcbt- glsoat- gloas- glagent-",
        r"gl(?:pat|ptt|dt|rt|cbt|soat|oas|agent)-[\w.-]{20,300}+",
    ),
    Form(
        "Slack token",
        "xox xapp-",
        r"xox[abeoprs]-(?=[A-Za-z-]{0,60}\d)[A-Za-z0-9-]{10,255}+|xapp-\d-[A-Z0-9a-z-]{20,255}+",
    ),
    Form(
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Z0-9]{6,15}/[\w/-]{20,120}+",
    ),
    Form("Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{10,25}/[\w-]{40,100}+"),
    Form("Google API key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    Form("Google OAuth token", "ya29. GOCSPX- 1//0", r"ya29\.[\w-]{20,500}+|GOCSPX-[\w-]{20,60}+|1//0[\w-]{40,200}+"),
    Form(
        "Stripe key", "k_live_ k_test_ whsec_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}+|whsec_[A-Za-z0-9+/]{32,100}+"
    ),
    Form("Anthropic key", "sk-ant-", r"sk-ant-[a-z0-9]{2,12}-[\w-]{20,255}+"),
    Form(
        "OpenAI key",
        "sk-",
        r"sk-(?:proj|svcacct|admin|or-v1)-[\w-]{32,255}+|sk-(?=[a-z]{0,60}[A-Z0-9])[A-Za-z0-9]{32,255}+",
    ),
    Form("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![\w-])"),
    Form("PyPI token", "pypi-Ag", r"pypi-Ag[\w-]{40,500}+"),
    Form("Hugging Face token", "hf_", r"hf_(?=[a-z0-9]{0,60}[A-Z])[A-Za-z0-9]{30,60}+(?![\w-])"),
    Form("Twilio key", "SK", r"SK[0-9a-f]{32}(?![\w-])"),
    Form("SendGrid key", "SG.", r"SG\.[\w-]{16,32}+\.[\w-]{16,64}+"),
    Form("Azure key", "AccountKey= AccessKey=", r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,90}+={1,2}"),
    Form("Azure client secret", "8Q~", r"[\w~.-]{3}8Q~[\w~.-]{31,34}(?![\w~-])"),
    Form("Azure access signature", "sig=", r"sig=[A-Za-z0-9%+/]{40,120}+"),
    Form("DigitalOcean token", "o_v1_ r_v1_ p_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    Form("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    Form("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?![\w-])"),
    Form("Vault token", "hvs.", r"hvs\.[\w-]{24,200}+"),
    Form("Docker token", "dckr_pat_", r"dckr_pat_[\w-]{20,60}+"),
    Form("Atlassian token", "ATATT3", r"ATATT3[\w=-]{50,300}+"),
    Form("Grafana token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    Form("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Form("JSON web token", "eyJ", r"eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{8,}+"),
    Form(
        "PuTTY private key", "PuTTY-User-Key-File-", r"PuTTY-User-Key-File-\d: (?:[^\n]{1,100}+\n){1,40}?Private-Lines:"
    ),
)


_LITERALS = tuple((literal, form) for form in FORMS for literal in form.literals.split())


def known_forms(text: str, long_words: list[str]) -> Iterator[tuple[int, int, str]]:
    """Where something in the text has the form of a service's secret, and whose. All of them are long words."""
    looked_at = " ".join(long_words)
    for form in dict.fromkeys([form for literal, form in _LITERALS if literal in looked_at] if looked_at else ()):
        for match in re.finditer(rf"(?<![A-Za-z0-9_-])(?:{form.pattern})", text):
            if not is_placeholder(match[0]):
                yield *match.span(), form.kind


_PLACEHOLDERS = (
    *("example", "placeholder", "sample", "dummy", "fake", "foobar", "redacted", "insert", "your", "deadbeef"),
    *("changeme", "change-me", "change_me", "replaceme", "replace-me", "replace_me", "notreal", "not-real", "not_real"),
    *(
        "mysecret",
        "my-secret",
        "my_secret",
        "mytoken",
        "my-token",
        "my_token",
        "mypassword",
        "my-password",
        "my_password",
    ),
    *("xxxx", "****", "....", "…", "123456789", "abcdefgh", "some-", "some_", "<", "{{", "${", "%("),
)


def is_placeholder(value: str) -> bool:
    """Whether it only shows where a secret goes: `<token>`, `xxxx`, `your-api-key`, `${TOKEN}`, `changeme`."""
    lower = value.lower()
    return any(word in lower for word in _PLACEHOLDERS) or len(set(lower)) <= min(5, 1 + len(lower) // 4)
