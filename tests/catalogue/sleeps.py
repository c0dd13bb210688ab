"""Finds places where a test waits for time to pass instead of moving the clock or waiting for a condition."""

import ast
from collections.abc import Iterator

SLEEPERS = {("time", "sleep"), ("asyncio", "sleep"), ("trio", "sleep"), ("anyio", "sleep")}
IN_SQL = "pg_sleep"


def sleeps(text: str) -> list[str]:
    tree = ast.parse(text)
    named = {**modules(tree), **functions(tree)}
    found = [f"line {call.lineno}: {name}" for call, name in calls(tree) if is_sleep(named.get(name, name), call)]
    return sorted(found) + sorted(
        f"line {node.lineno}: {IN_SQL}" for node in texts(tree) if IN_SQL in node.value.lower()
    )


def modules(tree: ast.Module) -> dict[str, str]:
    """`import time as t`: t.sleep is time.sleep."""
    return {
        f"{alias.asname}.{sleeper}": f"{alias.name}.{sleeper}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        for module, sleeper in SLEEPERS
        if alias.name == module and alias.asname
    }


def functions(tree: ast.Module) -> dict[str, str]:
    """`from time import sleep`: sleep is time.sleep."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name) in SLEEPERS
    }


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield node, ast.unparse(node.func)


def is_sleep(name: str, call: ast.Call) -> bool:
    if tuple(name.rsplit(".", 1)) not in SLEEPERS:
        return False
    # asyncio.sleep(0) lets others run, and waits for nobody
    lets_others_run = name != "time.sleep" and [ast.unparse(argument) for argument in call.args] == ["0"]
    return not lets_others_run


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
