"""The invariants as queries that answer the rows which break them. `laneway verify` and the tests run them."""

from laneway.verify.run import Violation, verify

__all__ = ["Violation", "verify"]
