"""Which database is the team's: the one in the settings, or the one that was joined since."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from memoryd.base.config import TeamSettings
from memoryd.base.errors import InvalidInput
from memoryd.team.credentials import address_with_password
from memoryd.team.rules.address import ServerAddress, address_in, shown_dsn
from memoryd.team.rules.problems import no_address


class Addresses:
    """The command writes a joined address into config.toml; until a restart it is kept here too."""

    def __init__(self, settings: TeamSettings, env: Mapping[str, str], home: str) -> None:
        self._settings = settings
        self._env = env
        self._home = home
        self._dsn = settings.dsn or ""

    @property
    def shown(self) -> str:
        """Without a password."""
        return shown_dsn(self._dsn)

    def current(self) -> ServerAddress | None:
        """With its password, read now; None if no database is named. Blocking."""
        return self._whole(self._dsn) if self._dsn else None

    def needed(self) -> ServerAddress:
        """The current one; TeamProblem if no database is named. Blocking."""
        found = self.current()
        if found is None:
            raise no_address()
        return found

    def asked_for(self, dsn: str) -> ServerAddress:
        """The address that a request names, or the current one. Blocking."""
        if not dsn:
            return self.needed()
        if address_in(dsn).password is not None:
            raise InvalidInput(
                "an address with a password in it is seen by every user of this machine",
                "leave it out, and put it into ~/.pgpass: HOST:PORT:DATABASE:USER:PASSWORD",
            )
        return self._whole(dsn)

    @contextmanager
    def trying(self, dsn: str) -> Iterator[bool]:
        """From now on this one, if it names any; a failure brings back what was before, even none.

        Yields whether it is another one.
        """
        before = self._dsn
        self._dsn = dsn or before
        try:
            yield self._dsn != before
        except BaseException:
            self._dsn = before
            raise

    def _whole(self, dsn: str) -> ServerAddress:
        found = address_with_password(
            dsn, key_file=self._settings.key_file, env=self._env, home=self._home
        )
        return msgspec.structs.replace(found, may_listen=self._settings.listen)
