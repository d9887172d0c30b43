"""The examples of docs/python.md print what the page says, with a real daemon."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.support.running import Daemon
from tests.test_docs import text_of


def test_the_examples_print_what_the_page_says(
    shared_daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYD_SOCKET", shared_daemon.socket)
    shop = tmp_path / "shop"
    shop.mkdir()
    parts = re.findall(
        r"^```(python|text)\n(.*?)^```", text_of("docs/python.md"), re.MULTILINE | re.DOTALL
    )
    assert [kind for kind, _ in parts] == ["python", "text"] * 5
    known: dict[str, object] = {}
    for (_, source), (_, told) in zip(parts[::2], parts[1::2], strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(source.replace("/srv/shop", str(shop)), known)  # noqa: S102 - the page's own
        assert printed.getvalue() == told
