"""What a plan of a hot statement may not do; each rule answers the nodes that do."""

from collections.abc import Callable

from capture import Node, Plan

SORTS = {"Sort", "Incremental Sort"}
SCANS = {"Index Scan", "Index Only Scan", "Bitmap Index Scan"}
# The sweep walks all leases: they are as many as there are slots, never the backlog.
LEASES = "live_lease"


def reads_end_to_end(plan: Plan) -> list[Node]:
    """A sequential scan of a hot table."""
    return [node for node in plan.nodes if node.kind == "Seq Scan" and node.table]


def walks_an_index_without_a_condition(plan: Plan) -> list[Node]:
    return [
        node
        for node in plan.nodes
        if node.kind in SCANS and is_hot(node) and node.condition is None and node.index != LEASES
    ]


def finds_by_lease(plan: Plan) -> list[Node]:
    """The index of leases has no job id: a search by id that takes it reads all leases of a lane."""
    return [node for node in plan.nodes if node.index == LEASES]


def sorts_more_than(rows: int) -> Callable[[Plan], list[Node]]:
    """A sort of what was not cut to the size of the call first."""

    def find(plan: Plan) -> list[Node]:
        return [node for node in plan.nodes if node.kind in SORTS and sum(child.rows for child in node.children) > rows]

    return find


def is_hot(node: Node) -> bool:
    # a bitmap index scan names the index alone
    return node.table is not None or (node.index or "").startswith(("live_", "later_", "waiting_", "job_", "attempt_"))
