"""`laneway dev`, which is `make dev`: what a person sees who has nothing but the checkout."""

import signal
import subprocess
import sys
from pathlib import Path

import psycopg
from server_holders import eventually, processes_under

from laneway.devserver import DevServer, ServerOptions

LANEWAY = Path(sys.executable).with_name("laneway")


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [LANEWAY, "dev", "--data-dir", folder, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def told(folder: Path, *options: str) -> str:
    with start(folder, *options) as process:
        text = process.communicate()[0]
    assert process.returncode == 0, text
    return text


def test_it_tells_a_job_s_life_and_ends_cleanly_the_first_time_and_the_next(new_dir):
    for _ in range(2):
        text = told(new_dir, "--jobs", "60")
        assert "8 of acme, 24 of globex" in text
        assert "failed (no mail server)" in text
        assert "(complete): stale" in text
        assert "Said again after a cut: duplicate" in text
        assert "globex looks for acme's jobs in the table itself: it sees 0." in text
        assert text.endswith("\n80 jobs completed, none lost, none twice; all invariants hold.\nStopped in order.\n")
        assert not processes_under(new_dir)


def test_what_a_killed_run_left_is_served_before_the_next(new_dir):
    with start(new_dir, "--jobs", "9000") as process:
        for line in process.stdout:
            if "Said again after a cut" in line:
                process.send_signal(signal.SIGKILL)
    text = told(new_dir, "--jobs", "60")
    assert "left over from an earlier run; they are served first." in text
    assert "\n80 jobs completed, none lost, none twice; all invariants hold.\n" in text
    eventually(lambda: not processes_under(new_dir))


def test_what_another_checkout_has_installed_is_refused_with_the_way_out_and_reset_takes_it(new_dir):
    told(new_dir, "--jobs", "6")
    with DevServer(ServerOptions(data_dir=new_dir)) as server, psycopg.connect(server.dsn("laneway")) as conn:
        conn.execute("update laneway.install_migration set checksum = 'another'")
    with start(new_dir) as process:
        text = process.communicate()[0]
    assert process.returncode == 4, text
    assert "its file has changed since" in text
    assert text.rstrip().endswith("Or begin anew: laneway dev --reset.")
    assert "8 jobs completed, none lost, none twice" in told(new_dir, "--jobs", "6", "--reset")
