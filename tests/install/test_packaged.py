"""The files of this release, on every server and under every name."""

import pytest
from places import place_on

from laneway.database.sqlfiles import SqlFiles


@pytest.mark.parametrize("place", ["plain", "odd"], indirect=True)
def test_the_packaged_release_installs_once_and_alike(server, place, tmp_path):
    files = SqlFiles.packaged()
    assert place.install(files).was_applied
    assert not place.install(files).was_applied
    with place_on(server, tmp_path / "other") as other:
        other.install(files)
        assert other.catalogue().differences(place.catalogue()) == ()
        # and once more with everything made again
        other.install(files, planner_pins=False)
        other.install(files, planner_pins=True)
        assert other.catalogue().differences(place.catalogue()) == ()
