"""The invariants of Laneway as queries: each answers the rows that break it. `laneway verify` and the tests run them."""

from laneway.verify.run import Violation, verify

__all__ = ["Violation", "verify"]
