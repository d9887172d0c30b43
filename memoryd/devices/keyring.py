"""The keys of this machine: one file in the state folder that only its owner can read. Blocking.

- `devices/keys.json` holds the machine's own pair, every vault key, and what is known of the other
  machines. It is never logged, shown or sent; a model may not read the state folder.
- A file that others can read, or that is not as we wrote it, is refused with a clear word and is
  not written over: it may be the only copy of a key.
"""

import stat
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base.errors import NotFound, Refused
from memoryd.devices.rules.members import DeviceRecord, VaultKeys, keys_are_sound
from memoryd.devices.sealing import DeviceKeys
from memoryd.system.folder import Folder

FOLDER: Final = "devices"
FILE: Final = "keys.json"
LIMIT_BYTES: Final = 1024 * 1024


class Keyring(msgspec.Struct, frozen=True, kw_only=True):
    """`place` is the database that the vault is in; `others` is every machine, this one too."""

    device: str
    name: str
    place: str
    own: DeviceKeys
    keys: VaultKeys
    others: list[DeviceRecord] = []

    def name_of(self, device: str) -> str:
        return next((one.name for one in self.others if one.device == device), "another machine")


class KeyringFile:
    def __init__(self, state_dir: str) -> None:
        self._folder = f"{state_dir}/{FOLDER}"

    @property
    def path(self) -> str:
        return f"{self._folder}/{FILE}"

    def read(self) -> Keyring | None:
        """None if this machine has no keys; Refused if they cannot be used."""
        try:
            mode = Path(self.path).stat().st_mode
            if stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO):
                raise Refused(f"others can read {self.path}", hint=f"chmod 600 {self.path}")
            with Folder.open(self._folder) as folder:
                keyring = msgspec.json.decode(folder.read(FILE, LIMIT_BYTES).data, type=Keyring)
            if keys_are_sound(keyring.keys):
                return keyring
        except (FileNotFoundError, NotFound):
            return None
        except (msgspec.MsgspecError, ValueError, OSError):
            pass
        raise Refused(
            f"{self.path} is damaged: without it this machine cannot read your other machines'",
            hint="put it back from a backup, or move it away and add this machine again:"
            " memoryd device add CODE",
        )

    def write(self, keyring: Keyring) -> None:
        with Folder.open(self._folder, create=True) as folder:
            current = folder.current(FILE)
            folder.write(
                FILE,
                msgspec.json.encode(keyring) + b"\n",
                over=current.version if current else None,
            )
