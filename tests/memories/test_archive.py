"""Archives from outside: nothing is unpacked, and what is odd is refused with a clear word."""

import gzip
import io
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.base.errors import Refused
from memoryd.memories.archive import opened_archive
from memoryd.memories.rules.archive_names import FILE_BYTES, kind_of

MANIFEST = b'{"format": 1, "project": "shop"}'


def archive(
    path: Path, *members: tuple[str, bytes | None, bytes], manifest: bytes = MANIFEST
) -> str:
    """A tar.gz of (name, data, type) after a manifest."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data, kind in (("manifest.json", manifest, tarfile.REGTYPE), *members):
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(data or b""), "/etc/passwd"
            tar.addfile(info, io.BytesIO(data or b""))
    path.write_bytes(buffer.getvalue())
    return str(path)


REG, TEXT = tarfile.REGTYPE, b"---\nname: A\n---\nText.\n"


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("../../.ssh/authorized_keys", REG, "leads out of it"),
        ("/etc/cron.d/x", REG, "leads out of it"),
        ("memory/../../x.md", REG, "leads out of it"),
        ("memory\\..\\x.md", REG, "leads out of it"),
        ("~/x.md", REG, "leads out of it"),
        ("memory/link.md", tarfile.SYMTYPE, "is a link"),
        ("memory/link.md", tarfile.LNKTYPE, "is a link"),
        ("memory/device.md", tarfile.CHRTYPE, "is not a plain file"),
        ("memory/pipe.md", tarfile.FIFOTYPE, "is not a plain file"),
        ("memory/block.md", tarfile.BLKTYPE, "is not a plain file"),
    ],
)
def test_what_leads_elsewhere_is_refused_as_a_whole(
    tmp_path: Path, name: str, kind: bytes, said: str
) -> None:
    path = archive(tmp_path / "a.tar.gz", ("memory/good.md", TEXT, REG), (name, None, kind))
    with pytest.raises(Refused, match=said):
        opened_archive(path)


def test_bombs_large_files_doubles_and_crowds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.tar.gz"
    large = archive(path, ("memory/a.md", b"x" * (FILE_BYTES + 1), REG))
    with pytest.raises(Refused, match="too large"):
        opened_archive(large)
    double = archive(path, ("memory/a.md", TEXT, REG), ("memory/a.md", TEXT, REG))
    with pytest.raises(Refused, match="twice"):
        opened_archive(double)
    monkeypatch.setattr("memoryd.memories.rules.archive_names.TOTAL_BYTES", 1_000_000)
    path.write_bytes(gzip.compress(b"\0" * 512 + b"\0" * 5_000_000))
    with pytest.raises(Refused):
        opened_archive(str(path))
    bomb = archive(path, *((f"memory/{n}.md", b"\0" * 900_000, REG) for n in range(5)))
    with pytest.raises(Refused, match="unpacks to over"):
        opened_archive(bomb)
    monkeypatch.setattr("memoryd.memories.rules.archive_names.MOST_FILES", 3)
    crowd = archive(path, *((f"memory/{n}.md", b"", REG) for n in range(5)))
    with pytest.raises(Refused, match="over 3 files"):
        opened_archive(crowd)


@pytest.mark.parametrize(
    "data", [b"", b"not a tar", gzip.compress(b"junk" * 500, mtime=0), b"\x1f\x8b"]
)
def test_what_is_not_an_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(data)
    with pytest.raises(Refused, match="refused"):
        opened_archive(str(tmp_path / "a.tar.gz"))
    with pytest.raises(Refused, match="cannot be read"):
        opened_archive(str(tmp_path / "absent"))
    with pytest.raises(Refused, match="newer memoryd"):
        opened_archive(archive(tmp_path / "b.tar.gz", manifest=b'{"format": 2}'))


def test_other_plain_files_are_passed_over(tmp_path: Path) -> None:
    members = [
        (name, b"", REG) for name in ("README.txt", "history.jsonl", "photo.png", "memory/x.txt")
    ]
    opened = opened_archive(archive(tmp_path / "a.tar.gz", *members, ("memory/a.md", TEXT, REG)))
    assert [(one.kind, one.name) for one in opened.files] == [("memory", "a.md")]
    assert opened.passed_over == 2


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_damaged_archive_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int
) -> None:
    path = tmp_path_factory.mktemp("a") / "a.tar.gz"
    archive(path, ("memory/a.md", TEXT, REG))
    plain = bytearray(gzip.decompress(path.read_bytes()))
    plain[at % len(plain)] = byte
    path.write_bytes(gzip.compress(bytes(plain), 1))
    with suppress(Refused):
        opened_archive(str(path))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("memory/feedback_tabs.md", "memory"),
        ("./memory/a/b.md", "memory"),
        ("memory/MEMORY.md", "index"),
        ("memory/.retired/a.md", "retired"),
        ("memory/logs/2026/03/2026-03-30.md", "log"),
        ("memory/logs/evil.md", "other"),
        ("memory/.hidden.md", "other"),
        ("checkpoints/before.md", "checkpoint"),
        ("checkpoints/.x.md", "other"),
        ("manifest.json", "manifest"),
    ],
)
def test_names_say_what_a_file_is(name: str, kind: str) -> None:
    assert kind_of(name)[0] == kind
