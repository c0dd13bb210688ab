"""Data that goes with its server, and never somebody's data that was to be kept."""

from pathlib import Path

from server_holders import ask, eventually, is_alive


def test_ephemeral_servers_share_nothing_and_leave_nothing(hold):
    holders = [hold(ephemeral=True), hold(ephemeral=True)]
    servers = [holder.started() for holder in holders]
    folders = {Path(server["data_dir"]).parent for server in servers}
    assert len(folders) == 2
    assert [server["joined"] for server in servers] == [False, False]
    assert ask(servers[0]["dsn"], "select 1") == 1
    for holder in holders:
        holder.stop()
    assert not [folder for folder in folders if folder.exists()]


def test_what_a_killed_ephemeral_owner_left_is_removed_by_the_next_ephemeral_start(hold):
    killed = hold(ephemeral=True)
    server = killed.started()
    killed.kill()
    eventually(lambda: not is_alive(server["pid"]))
    assert Path(server["data_dir"]).exists()
    other = hold(ephemeral=True)
    other.started()
    assert not Path(server["data_dir"]).parent.exists()
    other.stop()


def test_an_ephemeral_server_whose_process_was_killed_still_leaves_nothing(hold, kill_server, new_dir):
    holder = hold(ephemeral=True, data_dir=new_dir)
    server = holder.started()
    segment = (Path(server["data_dir"]) / "postmaster.pid").read_text().splitlines()[6].split()
    kill_server(server["pid"])
    holder.stop()
    assert [*new_dir.parent.iterdir()] == []
    left = [line.split()[:2] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    assert segment not in left


def test_a_named_folder_is_ephemeral_from_its_making_on_or_refused(hold, data_dir):
    kept = hold(data_dir=data_dir)
    kept.started()
    kept.stop()
    said = hold(data_dir=data_dir, ephemeral=True).refused()
    assert "holds data that was made to be kept" in said
    assert (data_dir / "PG_VERSION").exists()
    named = data_dir.with_name("other")
    first = hold(data_dir=named, ephemeral=True)
    first.started()
    first.kill()
    again = hold(data_dir=named, ephemeral=True)
    again.started()
    again.stop()
    assert [path.name for path in data_dir.parent.iterdir() if path.name.startswith("other")] == []
