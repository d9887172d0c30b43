"""What `memoryd config` shows of the settings."""

import pytest

from memoryd.base.config_listing import setting_lines


@pytest.mark.parametrize("password", ["geheim", "ge@heim", "a:b@geheim", "geheim%40"])
def test_a_password_in_an_address_is_never_shown(password: str) -> None:
    dsn = f"postgresql://alice:{password}@db.example.com/memories"
    lines = {one.key: one for one in setting_lines(f'[team]\ndsn = "{dsn}"\n', {})}
    shown = str(lines["team.dsn"].value)
    assert "geheim" not in shown
    assert "heim" not in shown
    assert shown == "postgresql://alice:[secret]@db.example.com/memories"
    assert lines["team.dsn"].is_set
