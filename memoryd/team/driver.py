"""asyncpg, an extra: this is the only module that imports it, at the first connection.

Its errors become `TeamProblem`s, without their words: these may quote a text.
"""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memoryd.team.rules import problems
from memoryd.team.rules.address import ServerAddress


def driver() -> Any:  # noqa: ANN401 - the driver has no types
    try:
        import asyncpg  # noqa: PLC0415 - an extra, and 100 ms that only a team needs
    except ImportError:
        raise problems.no_driver() from None
    return asyncpg


def tls_of(address: ServerAddress) -> ssl.SSLContext:
    """Checks the certificate and the name in it: what Postgres calls verify-full."""
    try:
        context = ssl.create_default_context(cafile=address.root_certificate or None)
        if address.certificate:
            context.load_cert_chain(address.certificate, address.certificate_key or None)
    except (OSError, ssl.SSLError) as error:
        raise problems.TeamProblem(
            "a certificate that the address of the team's database names cannot be read",
            "check sslrootcert, sslcert and sslkey in team.dsn",
            "tls",
        ) from error
    return context


@contextmanager
def our_problems(address: ServerAddress, *, passes_retried: bool = False) -> Iterator[None]:
    """Turns the driver's errors into ours, without their words."""
    asyncpg = driver()
    try:
        yield
    except asyncpg.PostgresError as error:
        state = error.sqlstate or ""
        if passes_retried and state in problems.RETRIED:
            raise
        raise problems.problem_of_state(state, address) from None
    except ssl.SSLError:
        raise problems.not_trusted(address) from None
    except ConnectionError as error:
        if "SSL" in str(error):  # the server has none
            raise problems.not_trusted(address) from None
        raise problems.unreachable(address) from None
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncpg.InterfaceError):
        raise problems.unreachable(address) from None
