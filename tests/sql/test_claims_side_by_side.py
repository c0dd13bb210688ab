"""Two claims at one time: each takes what the other does not hold, and none waits."""

import pytest

# A row lock that is waited for at all is one too many; a busy machine needs less than this for a claim.
NO_WAIT = "set lock_timeout = '1s'"


@pytest.mark.parametrize("way", ["one lane", "shared lanes", "strict queue"])
def test_claims_wait_for_nobody_and_share_no_job(database, heart, way):
    heart.define("a")
    heart.define("b")
    heart.set_queue(is_strict=way == "strict queue")
    tenant = heart.tenant()
    for number in range(12):
        heart.job(tenant, "b" if way == "shared lanes" and number % 2 else "a")
    one, two = heart.worker(), heart.worker()
    heart.rows(NO_WAIT)
    with database.connect(autocommit=False) as conn:
        first = heart.on(conn).claim(one, 2)
        second = heart.claim(two, 3)
        conn.commit()
    assert (len(first), len(second)) == (2, 3)
    assert not {claim.job_id for claim in first} & {claim.job_id for claim in second}
