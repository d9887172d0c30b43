"""A state folder that cannot be used is named, with a way to go on."""

import sys

import pytest

from memoryd.base.errors import StorageError
from memoryd.daemon.instance import InstanceLock


@pytest.mark.skipif(sys.platform != "linux", reason="/sys is where nobody may write")
def test_a_state_folder_that_cannot_be_written_says_where_else_to_put_it() -> None:
    with pytest.raises(StorageError) as raised:
        InstanceLock.take("/sys/memoryd")
    assert "cannot use /sys/memoryd" in raised.value.message
    assert "set XDG_STATE_HOME to a folder that is" in raised.value.hint
