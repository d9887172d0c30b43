"""Secrets made up at run time, so that no literal one stands here, and texts that hold none.

A draw returns the text in which a secret stands and the secret itself. The clean texts are in a
file; blobs like `@HEX:40@` are drawn when it is read.
"""

import base64
import json
import random
import re
import string
from collections.abc import Callable
from pathlib import Path

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = string.ascii_letters + DIGITS
HEX = "0123456789abcdef"
URL64 = ALNUM + "-_"
BASE64 = ALNUM + "+/"
BASE32 = UPPER + "234567"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"

Sample = tuple[str, str]


class Draw:
    """Random pieces of secrets."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def of(self, alphabet: str, length: int) -> str:
        return "".join(self.rng.choices(alphabet, k=length))

    def one(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def uuid(self) -> str:
        return "-".join(self.of(HEX, length) for length in (8, 4, 4, 4, 12))

    def password(self) -> str:
        """What a person might choose: a word, digits, perhaps a sign."""
        word = self.one(
            "Hunter", "trombone", "Winter", "kestrel", "Blau", "qwertz", "M0nkey", "sOlar"
        )
        return word + self.of(DIGITS, 3) + self.one("", "!", "#", "_x", "&q", "%")

    def token(self) -> str:
        return self.of(ALNUM, self.rng.randint(23, 47)) + self.of(DIGITS, 1)


def encoded(data: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


def shaped(prefix: str, alphabet: str, length: int) -> Callable[[Draw], Sample]:
    def draw(d: Draw) -> Sample:
        secret = prefix + d.of(alphabet, length)
        return secret, secret

    return draw


def itself(make: Callable[[Draw], str]) -> Callable[[Draw], Sample]:
    def draw(d: Draw) -> Sample:
        secret = make(d)
        return secret, secret

    return draw


def either(*makers: Callable[[Draw], Sample]) -> Callable[[Draw], Sample]:
    return lambda d: d.rng.choice(makers)(d)


def within(make: Callable[[Draw], str], *carriers: str) -> Callable[[Draw], Sample]:
    """A secret that only its carrier gives away; `@@` is where it goes."""

    def draw(d: Draw) -> Sample:
        secret = make(d)
        return d.rng.choice(carriers).replace("@@", secret), secret

    return draw


def jwt(d: Draw) -> Sample:
    header = {"alg": d.one("HS256", "RS256", "ES256"), "typ": "JWT"}
    token = f"{encoded(header)}.{encoded({'sub': d.of(DIGITS, 8)})}.{d.of(URL64, 43)}"
    return token, token


def key_lines(d: Draw, count: int) -> list[str]:
    return [d.of(BASE64, 64) for _ in range(count)] + [d.of(BASE64, 30) + "=="]


def pem(d: Draw) -> Sample:
    name = d.one("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA ")
    lines = key_lines(d, d.rng.randint(2, 30))
    newline = d.one("\n", "\r\n", "\\n", "\n    ", " ")
    block = [f"-----BEGIN {name}PRIVATE KEY-----", *lines, f"-----END {name}PRIVATE KEY-----"]
    return newline.join(block), lines[0]


def pem_without_end(d: Draw) -> Sample:
    lines = key_lines(d, 6)
    newline = d.one("\n", "\\n")
    return newline.join(["-----BEGIN RSA PRIVATE KEY-----", *lines[:-1]]), lines[4]


def pem_without_begin(d: Draw) -> Sample:
    lines = key_lines(d, 6)
    newline = d.one("\n", "\\n")
    return newline.join([*lines, "-----END OPENSSH PRIVATE KEY-----"]), lines[0]


def pgp(d: Draw) -> Sample:
    lines = key_lines(d, 8)
    head = ["-----BEGIN PGP PRIVATE KEY BLOCK-----", "Version: GnuPG v2", ""]
    return "\n".join([*head, *lines, "=aB3d", "-----END PGP PRIVATE KEY BLOCK-----"]), lines[3]


def service_account(d: Draw) -> Sample:
    block, secret = pem(d)
    return json.dumps({"type": "service_account", "private_key": block}), secret


def discord(d: Draw) -> Sample:
    user = base64.urlsafe_b64encode(d.of("123456789", 18).encode()).decode().rstrip("=")
    token = f"{user}.{d.of(URL64, 6)}.{d.of(URL64, 38)}"
    return token, token


def basic(d: Draw) -> Sample:
    secret = base64.b64encode(f"svc:{d.password()}".encode()).decode()
    return f"Authorization: Basic {secret}", secret


KINDS: dict[str, Callable[[Draw], Sample]] = {
    "aws access key": either(shaped("AK" + "IA", BASE32, 16), shaped("AS" + "IA", BASE32, 16)),
    "aws secret key": within(
        lambda d: d.of(BASE64, 40),
        "aws_secret_access_key = @@",
        'AWS_SECRET_ACCESS_KEY="@@"',
        '{"SecretAccessKey": "@@"}',
        "AKIA" + "QWERTYUIOPASDFG2 / @@",
    ),
    "gcp api key": shaped("AI" + "za", URL64, 35),
    "gcp service account": service_account,
    "google oauth secret": shaped("GOC" + "SPX-", URL64, 28),
    "google oauth token": shaped("ya" + "29.", URL64, 120),
    "azure storage key": within(
        lambda d: d.of(BASE64, 86) + "==",
        "AccountName=store;AccountKey=@@;EndpointSuffix=core.windows.net",
        "AZURE_STORAGE_KEY=@@",
    ),
    "azure client secret": itself(lambda d: d.of(ALNUM, 3) + "8Q~" + d.of(ALNUM + "_.-", 33) + "a"),
    "azure sas": within(
        lambda d: d.of(BASE64, 43) + "%3D",
        "https://store.blob.core.windows.net/c?sv=2022-11-02&se=2027-01-01&sp=r&sig=@@",
    ),
    "digitalocean": shaped("dop" + "_v1_", HEX, 64),
    "cloudflare": either(
        shaped("cfut" + "_", ALNUM, 48),
        within(lambda d: d.of(URL64, 40), "CLOUDFLARE_API_TOKEN=@@", 'cloudflare_api_token: "@@"'),
    ),
    "heroku": either(
        shaped("HRKU-" + "AA", URL64, 58),
        within(Draw.uuid, "HEROKU_API_KEY=@@", '"heroku_api_key": "@@"'),
    ),
    "vercel": either(
        shaped("vcp" + "_", ALNUM, 56),
        within(Draw.token, "VERCEL_TOKEN=@@", "vercel deploy --token @@"),
    ),
    "netlify": shaped("nfp" + "_", ALNUM, 36),
    "fly": either(shaped("fo1" + "_", URL64, 43), shaped("fm2" + "_", BASE64, 200)),
    "github": either(
        *(shaped(f"gh{letter}" + "_", ALNUM, 36) for letter in "pousr"),
        shaped("github" + "_pat_", ALNUM, 82),
    ),
    "gitlab": either(
        *(shaped(f"gl{name}" + "-", URL64, 20) for name in ("pat", "rt", "dt", "ptt"))
    ),
    "bitbucket": either(
        shaped("AT" + "BB", ALNUM, 32),
        within(Draw.token, "BITBUCKET_APP_PASSWORD=@@"),
    ),
    "slack token": itself(
        lambda d: (
            f"xox{d.one('b', 'p', 'a')}-{d.of(DIGITS, 11)}-{d.of(DIGITS, 12)}-{d.of(ALNUM, 24)}"
        )
    ),
    "slack webhook": within(
        lambda d: f"T{d.of(UPPER, 8)}/B{d.of(UPPER, 8)}/{d.of(ALNUM, 24)}",
        "https://hooks.slack.com/services/@@",
    ),
    "discord token": discord,
    "discord webhook": within(
        lambda d: d.of(URL64, 68), "https://discord.com/api/webhooks/112233445566778899/@@"
    ),
    "telegram": within(lambda d: "AA" + d.of(URL64, 33), "4738291056:@@"),
    "twilio": either(
        shaped("S" + "K", HEX, 32),
        within(lambda d: d.of(HEX, 32), "TWILIO_AUTH_TOKEN=@@", "twilio auth token: @@"),
    ),
    "sendgrid": itself(lambda d: f"SG.{d.of(URL64, 22)}.{d.of(URL64, 43)}"),
    "mailgun": shaped("key" + "-", HEX, 32),
    "mailchimp": itself(lambda d: d.of(HEX, 32) + "-us" + d.of("123456789", 2)),
    "postmark": within(Draw.uuid, "X-Postmark-Server-Token: @@", "POSTMARK_API_TOKEN=@@"),
    "stripe": either(
        *(
            shaped(f"{kind}_{mode}_", ALNUM, 24)
            for kind in ("sk", "rk")
            for mode in ("live", "test")
        )
    ),
    "stripe webhook": shaped("wh" + "sec_", ALNUM, 32),
    "square": either(shaped("sq0" + "atp-", URL64, 22), shaped("EA" + "AA", URL64, 60)),
    "braintree": itself(
        lambda d: f"access_token$production${d.of(LOWER + DIGITS, 16)}${d.of(HEX, 32)}"
    ),
    "paypal": within(lambda d: "E" + d.of(URL64, 79), 'PAYPAL_CLIENT_SECRET="@@"'),
    "shopify": either(*(shaped(f"shp{kind}_", HEX, 32) for kind in ("at", "ca", "pa", "ss"))),
    "npm": either(
        shaped("npm" + "_", ALNUM, 36),
        within(Draw.token, "//registry.npmjs.org/:_authToken=@@"),
    ),
    "pypi": shaped("pypi-" + "AgEIcHlwaS5vcmc", URL64, 130),
    "rubygems": shaped("ruby" + "gems_", HEX, 48),
    "crates": shaped("ci" + "o", ALNUM, 32),
    "nuget": shaped("oy" + "2", LOWER + DIGITS, 43),
    "docker": shaped("dckr" + "_pat_", URL64, 27),
    "hugging face": shaped("h" + "f_", ALNUM, 34),
    "openai": either(shaped("sk" + "-", ALNUM, 48), shaped("sk" + "-proj-", URL64, 120)),
    "anthropic": shaped("sk-" + "ant-api03-", URL64, 95),
    "linear": shaped("lin" + "_api_", ALNUM, 40),
    "notion": either(shaped("secret" + "_", ALNUM, 43), shaped("ntn" + "_", ALNUM, 46)),
    "figma": shaped("fig" + "d_", URL64, 40),
    "sentry": shaped("sntryu" + "_", HEX, 64),
    "datadog": within(
        lambda d: d.of(HEX, 32), "DATADOG_API_KEY=@@", "DD-API-KEY: @@", "dd_api_key: @@"
    ),
    "new relic": either(shaped("NR" + "AK-", UPPER + DIGITS, 27)),
    "grafana": itself(lambda d: f"glsa_{d.of(ALNUM, 32)}_{d.of(HEX, 8)}"),
    "databricks": shaped("da" + "pi", HEX, 32),
    "vault": shaped("hv" + "s.", URL64, 90),
    "terraform": itself(lambda d: f"{d.of(ALNUM, 14)}.atlasv1.{d.of(URL64, 67)}"),
    "doppler": shaped("dp" + ".pt.", ALNUM, 43),
    "atlassian": shaped("AT" + "ATT3xFfGF0", URL64, 170),
    "age": shaped("AGE-SECRET-" + "KEY-1", BECH32, 58),
    "pem": pem,
    "pem without end": pem_without_end,
    "pem without begin": pem_without_begin,
    "pgp": pgp,
    "jwt": jwt,
    "connection string": within(
        lambda d: d.password().replace("#", "-").replace("%", "~"),
        "postgres://app:@@@db.internal:5432/prod",
        "mysql://root:@@@10.0.0.5/shop",
        "mongodb+srv://svc:@@@cluster0.abcde.mongodb.net/x?retryWrites=true",
        "redis://:@@@cache:6379/0",
        "amqp://worker:@@@mq.internal//",
        "https://ci:@@@git.example.com/team/repo.git",
    ),
    "bearer": within(
        Draw.token,
        "Authorization: Bearer @@",
        """curl -H 'Authorization: Bearer @@' https://api.example.com""",
        '{"Authorization": "Bearer @@"}',
        "Authorization: token @@",
    ),
    "basic": basic,
    "cookie": within(
        lambda d: d.of(URL64, 32),
        "Cookie: theme=dark; sessionid=@@; lang=en",
        "Set-Cookie: connect.sid=@@; Path=/; HttpOnly",
        "curl --cookie 'auth_session=@@' https://example.com",
    ),
    "password assigned": within(
        Draw.password,
        "DB_PASSWORD=@@",
        'password = "@@"',
        "password: @@",
        '{"user": "app", "password": "@@"}',
        "spring.datasource.password=@@",
        "const dbPassword = '@@';",
        'password: str = "@@"',
        "Server=db;User Id=app;Password=@@;Encrypt=true",
        "export PGPASSWORD=@@",
        "<password>@@</password>".replace("&", ""),
        'conn = connect(host="db", password="@@", port=5432)',
        'os.environ["SMTP_PASSWORD"] = "@@"',
        "CREATE USER app WITH PASSWORD '@@';",
        "smtp_pass: '@@'",
    ),
    "password flag": within(
        Draw.password,
        "tool login --user bob --password @@",
        "tool --db-password=@@ run",
        "sshpass -p @@ ssh root@10.0.0.1",
        "mysql -u root -p@@ shop",
        "curl -u admin:@@ https://example.com/api",
        "machine git.example.com login bob password @@",
    ),
    "password in a sentence": within(
        Draw.password,
        "the password is @@",
        "The staging password for the lab box is @@, please keep it.",
        'my password: "@@"',
        "btw the wifi password is `@@`.",
        "I changed the admin password to @@ yesterday",
        "user svc-read pw @@!Q7",
        "das Passwort ist @@",
        "la contraseña es @@",
        "пароль: @@",
    ),
    "token assigned": within(
        Draw.token,
        "API_TOKEN=@@",
        'api_key = "@@"',
        "apiKey: '@@',",
        '{"access_token":"@@","expires_in":3600}',
        "X-Api-Key: @@",
        "https://api.example.com/v1/items?api_key=@@&page=2",
        "client_secret: @@",
        "JWT_SECRET=@@",
        "--token @@",
        'token := "@@"',
        "ENCRYPTION_KEY='@@'",
        'SECRET_KEY = b"@@"',
        "auth_token => '@@'",
    ),
    "token in a sentence": within(
        Draw.token,
        "my api key is @@",
        "the access token for ci is @@.",
        "here is the API key: @@",
        'use the secret "@@" for signing',
    ),
}


def draws(kind: str, count: int) -> list[Sample]:
    """The same samples of a kind on every run."""
    draw = Draw(random.Random(kind))
    return [KINDS[kind](draw) for _ in range(count)]


def clean_texts(seed: int) -> dict[str, str]:
    """Texts without a secret by name, with blobs drawn from the seed."""
    draw = Draw(random.Random(seed))
    alphabets = {"HEX": HEX, "BASE64": BASE64, "URL64": URL64}

    def blob(match: re.Match[str]) -> str:
        return draw.of(alphabets[match[1]], int(match[2])) if match[2] else draw.uuid()

    file = Path(__file__).parents[1] / "data/clean_texts.txt"
    sections = file.read_text(encoding="utf-8").split("=== ")[1:]
    pairs = (section.split("\n", 1) for section in sections)
    return {name: re.sub(r"@([A-Z0-9]+):?([0-9]*)@", blob, text) for name, text in pairs}
