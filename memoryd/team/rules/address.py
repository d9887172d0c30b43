"""Where a team's database is, read from a DSN, and how that is shown.

Rules
- `postgresql://user@host:port/database?sslrootcert=...`, or with `host=/path` for a Unix socket.
- Off this machine's sockets only TLS with `verify-full` is used. A weaker `sslmode` in the DSN is
  an error, not a request: with `require` any certificate is taken.
- A password is never part of a word that is shown, logged or compared.
- What is not known here is an error: a misspelt option must not weaken anything silently.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from memoryd.base.config import Secret
from memoryd.base.errors import InvalidInput

DEFAULT_PORT: Final = 5432
HINT: Final = "for example postgresql://alice@db.example.com/memories"
_OPTIONS: Final = frozenset({"host", "port", "user", "dbname", "sslmode"})
_FILES: Final = frozenset({"sslrootcert", "sslcert", "sslkey"})
_LOOPBACK: Final = re.compile(r"localhost|127(?:\.\d{1,3}){3}|::1")


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """`host` is a name, or the folder of a Unix socket."""

    host: str
    port: int
    user: str
    database: str
    password: Secret | None = None
    root_certificate: str = ""
    certificate: str = ""
    certificate_key: str = ""
    may_listen: bool = True

    @property
    def is_socket(self) -> bool:
        return self.host.startswith("/")

    @property
    def is_on_this_machine(self) -> bool:
        return self.is_socket or _LOOPBACK.fullmatch(self.host) is not None

    @property
    def place(self) -> str:
        """The database itself, without the login."""
        return f"{self.host}:{self.port}/{self.database}"

    @property
    def shown(self) -> str:
        """Without the password."""
        if self.is_socket:
            return f"postgresql://{self.user}@/{self.database}?host={self.host}&port={self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{self.user}@{host}:{self.port}/{self.database}"


def address_in(dsn: str) -> ServerAddress:
    """InvalidInput, without the DSN's own words, for what is not one."""
    if not dsn.isprintable() or " " in dsn:
        raise InvalidInput("the address of the database has spaces in it", HINT)
    try:
        parts = urlsplit(dsn)
        port = parts.port
    except ValueError:
        raise InvalidInput("the address of the database cannot be read", HINT) from None
    if parts.scheme not in {"postgresql", "postgres"} or parts.fragment:
        raise InvalidInput("the address of the database must begin with postgresql://", HINT)
    options = dict(_options(parts.query))
    host = options.get("host") or unquote(parts.hostname or "")
    user = options.get("user") or unquote(parts.username or "")
    if not host or "," in host or "," in parts.netloc:
        raise InvalidInput("the address of the database must name one host", HINT)
    if not user:
        raise InvalidInput("the address of the database must name a user", HINT)
    address = ServerAddress(
        host=host,
        port=port or int(options.get("port") or DEFAULT_PORT),
        user=user,
        database=options.get("dbname") or unquote(parts.path.lstrip("/")) or user,
        password=Secret(unquote(parts.password)) if parts.password else None,
        root_certificate=options.get("sslrootcert", ""),
        certificate=options.get("sslcert", ""),
        certificate_key=options.get("sslkey", ""),
    )
    _check_mode(address, options.get("sslmode", "verify-full"))
    return address


def _options(query: str) -> Iterator[tuple[str, str]]:
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name == "password":
            raise InvalidInput(
                "a password does not belong into the options of an address",
                "put it into ~/.pgpass, or into the file that team.key_file names",
            )
        if name not in _OPTIONS | _FILES:
            known = ", ".join(sorted(_OPTIONS | _FILES))
            raise InvalidInput(f"unknown option {name[:40]!r} in the address", f"known: {known}")
        if name in _FILES and not value.startswith("/"):
            raise InvalidInput(f"{name} must be an absolute path", HINT)
        if name == "port" and not value.isdecimal():
            raise InvalidInput("the port must be a number", HINT)
        yield name, value


def _check_mode(address: ServerAddress, mode: str) -> None:
    if not address.is_socket and mode != "verify-full":
        raise InvalidInput(
            f"sslmode={mode[:20]} does not check whom it talks to; only verify-full is used",
            "leave sslmode out; for a certificate of your own: sslrootcert=/path/to/ca.crt",
        )


def shown_dsn(dsn: str) -> str:
    """A DSN as it may be shown, whatever is in it."""
    try:
        return address_in(dsn).shown
    except InvalidInput:
        return "[not an address that can be used]" if dsn else ""


def password_line(text: str, address: ServerAddress) -> str | None:
    """The password for an address in the text of a .pgpass; None if no line is for it."""
    hosts = {"localhost", address.host} if address.is_socket else {address.host}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        fields = [_UNESCAPE.sub(r"\1", field) for field in _FIELD.findall(line)]
        if len(fields) == 5 and all(
            field == "*" or field in wanted
            for field, wanted in zip(
                fields[:4],
                (hosts, {str(address.port)}, {address.database}, {address.user}),
                strict=True,
            )
        ):
            return fields[4]
    return None


_FIELD: Final = re.compile(r"(?:^|(?<=:))((?:\\.|[^:\\])*)(?::|$)")
_UNESCAPE: Final = re.compile(r"\\(.)")
