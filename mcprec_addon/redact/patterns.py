"""The table of secrets with a shape: a row for each token format.

A row's class names its placeholders. Its hint is a cheap pattern that every match contains;
nothing looks around, as RE2 wants it. Where only an end is unknown, none is set: a bound would
leave what is behind it, and RE2 is slow at large ones. A group marks the secret where
it is not the whole match. Strong prefixes have no boundary to their left: an escape sequence
may stand there.
"""

from dataclasses import dataclass
from typing import Literal

Check = Literal["none", "wordy", "basic", "query", "flag", "pem", "number"]
"""What has to hold beyond the pattern: nothing; the secret is no plain word; it decodes to
``user:password``; the parameter's or flag's name holds credentials; it reaches to its END line;
it is a number of its class that stands by itself."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One row.

    Attributes:
        cls: Class of the placeholders.
        hint: Occurs wherever `regex` does.
        regex: What a secret looks like.
        check: What else must hold.
        since: Version of the built-in rules it came with.
    """

    cls: str
    hint: str
    regex: str
    check: Check = "none"
    since: int = 1


_SK_NAMES = "sk-(?:proj|svcacct|admin|None)-"
_KEY_WORDS = "(?:api[-_]?key|token|secret|passw(?:or)?d|pwd|passphrase|credentials?)"
_CARD = (
    r"\b(?:[456][0-9]{3}|2[2-7][0-9]{2}|35[0-9]{2})(?:[ -]?[0-9]{4}){3}\b"
    r"|\b3[0-9]{3}[ -]?[0-9]{6}[ -]?[0-9]{4,5}\b"
)
# Digits in one piece, or in groups behind the code of a country and perhaps an area in brackets.
_PHONE = (
    r"\+[1-9][0-9]{7,14}|\+[1-9][0-9]{0,2}[ .-]?(?:\(0\) ?)?\(?[0-9]{1,5}\)?"
    r"(?:[ .-]{1,2}[0-9]{1,8}){1,5}"
)
_AMERICAN = (
    r"(?:1[ .-])?\([2-9][0-9]{2}\) ?[2-9][0-9]{2}[ .-][0-9]{4}"
    r"|(?:1[.-])?[2-9][0-9]{2}[.-][2-9][0-9]{2}[.-][0-9]{4}"
)

PATTERNS: tuple[Pattern, ...] = (
    Pattern("openai-key", _SK_NAMES, _SK_NAMES + "[A-Za-z0-9_-]{20,}"),
    Pattern("openai-key", "T3BlbkFJ", "sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    Pattern("openai-session", "sess-[A-Za-z0-9]{8}", "sess-[A-Za-z0-9]{40}"),
    Pattern(
        "anthropic-key",
        "sk-ant-",
        "sk-ant-(?:api|admin|oat|ort|sid)[0-9]{2}-[A-Za-z0-9_-]{20,}",
    ),
    Pattern("openrouter-key", "sk-or-v1-", "sk-or-v1-[0-9a-f]{64}"),
    Pattern(
        "langfuse-key",
        "[sp]k-lf-",
        "[sp]k-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    Pattern("api-key", r"\bsk-[A-Za-z0-9]{20}", r"\bsk-[A-Za-z0-9]{20,128}\b"),
    Pattern("google-key", "AIza", "AIza[A-Za-z0-9_-]{35}"),
    Pattern("google-key", r"\bAQ\.[A-Za-z0-9_-]{8}", r"\bAQ\.[A-Za-z0-9_-]{30,100}"),
    Pattern("google-token", r"ya29\.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    Pattern("google-secret", "GOCSPX-", "GOCSPX-[A-Za-z0-9_-]{28}"),
    Pattern("google-token", r"\b1//0", r"\b1//0[A-Za-z0-9_-]{40,200}"),
    Pattern("groq-key", "gsk_", "gsk_[A-Za-z0-9]{40,64}"),
    Pattern("xai-key", "xai-[A-Za-z0-9]{8}", "xai-[A-Za-z0-9]{60,120}"),
    Pattern("perplexity-key", "pplx-", "pplx-[A-Za-z0-9]{40,64}"),
    Pattern(
        "huggingface-token",
        r"\b(?:hf|api_org)_[A-Za-z0-9]{8}",
        r"\b(?:hf|api_org)_[A-Za-z0-9]{30,50}\b",
    ),
    Pattern("replicate-token", r"\br8_", r"\br8_[A-Za-z0-9]{37}\b"),
    Pattern("nvidia-key", "nvapi-", "nvapi-[A-Za-z0-9_-]{50,100}"),
    Pattern("cerebras-key", r"\bcsk-", r"\bcsk-[a-z0-9]{40,60}\b"),
    Pattern("fireworks-key", r"\bfw_[A-Za-z0-9]{8}", r"\bfw_[A-Za-z0-9]{20,40}\b"),
    Pattern("langsmith-key", "lsv2_", "lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    Pattern("tavily-key", r"\btvly-", r"\btvly-(?:dev-|prod-)?[A-Za-z0-9]{20,64}"),
    Pattern("pinecone-key", "pcsk_", "pcsk_[A-Za-z0-9]{5,10}_[A-Za-z0-9]{50,80}"),
    Pattern("github-token", "gh[pousr]_[A-Za-z0-9]{8}", "gh[pousr]_[A-Za-z0-9]{36,}"),
    Pattern("github-token", "github_pat_", "github_pat_[A-Za-z0-9_]{60,}"),
    Pattern(
        "gitlab-token",
        "gl(?:[pdrf]t|ptt|cbt|imt|agent|oas|soat|ffct|wt|pat)-",
        "gl(?:pat|dt|rt|ptt|cbt|ft|imt|agent|oas|soat|ffct|wt)-[A-Za-z0-9_.-]{20,}",
    ),
    Pattern("slack-token", "xox[abceoprs]-", "xox[abceoprs]-[A-Za-z0-9-]{10,}"),
    Pattern(
        "slack-token",
        "xapp-[0-9]-",
        "xapp-[0-9]-[A-Z0-9]{5,20}-[0-9]{8,16}-[a-f0-9]{32,128}",
    ),
    Pattern(
        "slack-webhook",
        r"hooks\.slack\.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{20,80})",
    ),
    Pattern(
        "discord-webhook",
        r"discord(?:app)?\.com/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/([0-9]{15,22}/[A-Za-z0-9_-]{50,90})",
    ),
    Pattern("telegram-token", "[0-9]{8}:AA", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    Pattern(
        "aws-key",
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{8}",
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    ),
    Pattern(
        "aws-session",
        r"\b(?:FwoG|IQoJ|FQoG)[A-Za-z0-9/+=%]{8}",
        r"\b(?:FwoG|IQoJ|FQoG)[A-Za-z0-9/+=%]{100,}",
    ),
    Pattern("bedrock-key", r"\bABSK[A-Za-z0-9+/]{8}", r"\bABSK[A-Za-z0-9+/]{80,200}={0,2}"),
    Pattern("bedrock-key", "bedrock-api-key-", "bedrock-api-key-[A-Za-z0-9+/]{60,}={0,2}"),
    Pattern("azure-key", "JQQJ99", r"\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}\b"),
    Pattern("azure-secret", "[0-9]Q~", "[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    Pattern("stripe-key", "[sr]k_(?:live|test)_", r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    Pattern("stripe-secret", "whsec_", "whsec_[A-Za-z0-9+/=]{32,64}"),
    Pattern("sendgrid-key", r"SG\.[A-Za-z0-9_-]{8}", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    Pattern("twilio-key", r"\bSK[0-9a-f]{8}", r"\bSK[0-9a-f]{32}\b"),
    Pattern("npm-token", r"\bnpm_[A-Za-z0-9]{12}", r"\bnpm_[A-Za-z0-9]{36}\b"),
    Pattern("pypi-token", "pypi-AgE", "pypi-AgE[A-Za-z0-9_-]{50,}"),
    Pattern("docker-token", "dckr_(?:pat|oat)_", "dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,64}"),
    Pattern("linear-key", "lin_(?:api|oauth)_", "lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    Pattern(
        "notion-token",
        r"\b(?:ntn|secret)_[A-Za-z0-9]{12}",
        r"\b(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})\b",
    ),
    Pattern("figma-token", "fig[dou]_[A-Za-z0-9_-]{8}", "fig[dou]_[A-Za-z0-9_-]{40,64}"),
    Pattern("atlassian-token", "ATATT3", "ATATT3[A-Za-z0-9_=-]{60,250}"),
    Pattern("sentry-token", "sntry[su]_", "sntry[su]_[A-Za-z0-9+/=_-]{40,400}"),
    Pattern("databricks-token", r"\bdapi[0-9a-f]{8}", r"\bdapi[0-9a-f]{32}(?:-[0-9])?\b"),
    Pattern(
        "supabase-key",
        r"\b(?:sbp|sb_secret)_",
        r"\b(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,64})",
    ),
    Pattern("vault-token", r"\bhv[sbr]\.", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    Pattern(
        "doppler-token",
        r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.",
        r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,100}",
    ),
    Pattern("digitalocean-token", "do[opr]_v1_", "do[opr]_v1_[0-9a-f]{64}"),
    Pattern(
        "airtable-token",
        r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{8}",
        r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b",
    ),
    Pattern("shopify-token", "shp(?:at|ca|pa|ss)_", "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    Pattern("age-key", "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Pattern(
        "jwt",
        r"\.eyJ[A-Za-z0-9_-]{8}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}[A-Za-z0-9_-]*"
        r"\.[A-Za-z0-9_-]{0,}",
    ),
    Pattern(
        "token",
        r"(?i)\b(?:bearer|token)[ \t]+[A-Za-z0-9._~+/=-]{16}",
        r"(?i)\b(?:bearer|token)[ \t]+([A-Za-z0-9._~+/=-]{16,})",
        "wordy",
    ),
    Pattern(
        "basic-auth",
        r"(?i)\bbasic[ \t]+[A-Za-z0-9+/]{8}",
        r"(?i)\bbasic[ \t]+([A-Za-z0-9+/]{8,}={0,2})",
        "basic",
    ),
    Pattern(
        "url-password",
        r"://[^\s/@:\"'\\]*:[^\s/@\"'\\]+@",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/@:\"'\\]{0,256}:([^\s/@\"'\\]{1,256})@",
    ),
    Pattern(
        "url-secret",
        r"[?&][A-Za-z0-9_.-]+=[^&\s\"'\\<>#]{6}",
        r"[?&][A-Za-z0-9_.-]{1,64}=([^&\s\"'\\<>#]{6,})",
        "query",
    ),
    Pattern(
        "flag-secret",
        f"(?i)--[a-z0-9_-]*{_KEY_WORDS}[= ]",
        f"(?i)--[a-z0-9_-]{{0,40}}{_KEY_WORDS}[= ][\"']?([^\\s\"'\\\\]{{8,}})",
        "flag",
    ),
    Pattern(
        "private-key",
        "PRIVATE KEY",
        "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        "pem",
    ),
    Pattern(
        "email",
        r"[A-Za-z0-9._%+-]@[A-Za-z0-9-]+\.[A-Za-z0-9-]",
        r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}",
    ),
    Pattern("card", _CARD, _CARD, "number"),
    Pattern("phone", _PHONE, _PHONE, "number"),
    Pattern("phone", _AMERICAN, _AMERICAN, "number"),
)
