"""What does a claim cost with ten thousand tenants in the ring, to one with a single tenant?"""

from parked import claim_cost
from rounds import Bench, Line

__all__ = ["TITLE", "ask"]

TITLE = "Claim by 100 among 10,000 tenants, to one tenant"
TENANTS = 10_000


async def ask(bench: Bench) -> list[Line]:
    small, large = bench.ground("bench"), bench.ground("parked")
    for ground, tenants in ((small, 1), (large, TENANTS)):
        ground.empty()
        ground.put_jobs(bench.sizes.backlog, tenants=tenants)
        ground.analyze()
    return [await claim_cost(bench, (small, large), figure="tenants-10000", title=f"{TENANTS:,} tenants with work")]
