"""Cost function networks of toulbar2 (``.cfn``): tables of costs, in loose JSON.

An object of the problem's name and bound (``"<9.5"``: minimise, ``">9.5"``: maximise), the
variables with their domains, and the functions with their scopes and costs, in this order; see
`mapreroot.formats.brackets` for what may be left out. The values 0 and 1 are those of a domain,
in its order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from typing import Literal

import numpy as np

from mapreroot.canonical import Floats
from mapreroot.formats.brackets import (
    Node,
    error_at,
    fields,
    number_of,
    parse,
    show,
    words_before_close,
)
from mapreroot.formats.capacity import check_numbered
from mapreroot.formats.factors import Factors, without_penalty
from mapreroot.formats.text import Text
from mapreroot.model import Model

__all__ = ["read", "sense", "write"]

_SAFE = re.compile(r"[^\W\d][^\s/#\[\]{},:\"\\]*")

DIGITS = 15
"""How many digits of a cost toulbar2 has room for."""


def read(text: Text) -> Factors:
    """Read a CFN file of tables: score = -cost, or the cost where it is maximised.

    A cost beside which no total can keep within the bound is a hard constraint. That the bound
    excludes other totals, too, is not part of the model.
    """
    problem, listed, functions = fields(text, parse(text), ("problem", "variables", "functions"))
    mustbe = fields(text, problem, ("name", "mustbe"))[1]
    if mustbe.word is None or mustbe.word[:1] not in ("<", ">"):
        raise error_at(text, mustbe, f'expected a bound such as "<10.0", found {show(mustbe)}')
    sign = -1.0 if mustbe.word[0] == "<" else 1.0
    bound = sign * number_of(text, Node(mustbe.position, mustbe.word[1:]))
    variables = _variables(text, listed)
    scopes, tables = _functions(text, functions, variables)
    logs = [sign * table for table in tables]
    highs = [float(log.max()) for log in logs]
    total = math.fsum(highs)
    for log, high in zip(logs, highs, strict=True):
        log[log - high + total <= bound] = -np.inf
    return Factors(
        tuple(variables),
        np.array([len(domain) for domain in variables.values()], dtype=np.int64),
        np.array([len(scope) for scope in scopes], dtype=np.int64),
        np.array([v for scope in scopes for v in scope], dtype=np.int64),
        np.concatenate([np.zeros(0), *logs]),
    )


def sense(text: Text) -> Literal["max", "min"]:
    """Say whether the file is to be maximised or minimised."""
    # The bound is the last word of the first object that ends.
    return "max" if words_before_close(text)[-1:][0].startswith(">") else "min"


def _variables(text: Text, node: Node) -> dict[Hashable, list[str]]:
    """Read the variables: by name, or by number where they have none, the names of their values."""
    found: dict[Hashable, list[str]] = {}
    items = list(node.items[::-1])
    while items:
        item = items.pop()
        label: Hashable = len(found)
        if item.is_name:
            label = item.word
            if label in found:
                raise error_at(text, item, f"a second variable is called {label!r}")
            if not items:
                raise error_at(text, item, f"variable {label!r} has no domain")
            item = items.pop()
        if item.word is None:
            domain = [value.word or "" for value in item.items]
            if len(set(domain)) < len(domain):
                raise error_at(text, item, f"variable {label!r} has a value twice")
        else:
            size = number_of(text, item)
            if not size.is_integer() or not 0 < size < 2**31:
                raise error_at(
                    text, item, f"variable {label!r} has a domain of size {item.word}: expected 2"
                )
            domain = list(map(str, range(int(size))))
        if not domain:
            raise error_at(text, item, f"variable {label!r} has no values")
        found[label] = domain
    return found


def _functions(
    text: Text, node: Node, variables: dict[Hashable, list[str]]
) -> tuple[list[list[int]], list[Floats]]:
    """Read the scopes and the tables, the last variable varying fastest."""
    index = {label: v for v, label in enumerate(variables)}
    domains = list(variables.values())
    scopes: list[list[int]] = []
    tables: list[Floats] = []
    names: dict[str, int] = {}
    shared: list[tuple[int, Node]] = []
    items = list(node.items[::-1])
    while items:
        item = items.pop()
        if item.word is not None:
            if item.word in names:
                raise error_at(text, item, f"a second function is called {item.word!r}")
            names[item.word] = len(scopes)
            if not items or items[-1].word is not None:
                raise error_at(text, item, f"function {item.word!r} has no content")
            item = items.pop()
        scope, default, costs = _content(text, item)
        scopes.append([_variable(text, each, index, len(domains)) for each in scope.items])
        if len(set(scopes[-1])) < len(scopes[-1]):
            raise error_at(text, scope, "the scope holds a variable twice")
        shape = [len(domains[v]) for v in scopes[-1]]
        if costs.word is not None:
            shared.append((len(tables), costs))
            tables.append(np.zeros(math.prod(shape)))
        elif default is None:
            tables.append(_dense(text, costs, math.prod(shape)))
        else:
            given = [domains[v] for v in scopes[-1]]
            tables.append(_sparse(text, costs, given, number_of(text, default)))
    for k, costs in shared:
        other = names.get(costs.word or "", k)
        if other == k or len(tables[other]) != len(tables[k]):
            raise error_at(text, costs, f"no function of this size is called {show(costs)}")
        tables[k] = tables[other].copy()
    return scopes, tables


def _content(text: Text, node: Node) -> tuple[Node, Node | None, Node]:
    """Take a function apart: its scope, its default cost if it has one, its costs."""
    rest = [item for item in node.items if item.word not in ("scope", "defaultcost", "costs")]
    if len(rest) > 2 and rest[1].is_name:
        raise error_at(text, rest[1], "the function is not a table: expected costs")
    if not 2 <= len(rest) <= 3 or rest[0].word is not None:
        raise error_at(text, node, "expected a function: scope, perhaps defaultcost, and costs")
    return rest[0], rest[1] if len(rest) == 3 else None, rest[-1]


def _variable(text: Text, node: Node, index: dict[Hashable, int], n: int) -> int:
    v = index.get(node.word, -1) if node.is_name else _whole(text, node)
    if not 0 <= v < n:
        raise error_at(text, node, f"the scope holds {show(node)}, which is no variable")
    return v


def _whole(text: Text, node: Node) -> int:
    """Read a whole number; -1 for another one."""
    value = number_of(text, node)
    return int(value) if value.is_integer() else -1


def _dense(text: Text, node: Node, size: int) -> Floats:
    if len(node.items) != size:
        raise error_at(text, node, f"found {len(node.items)} costs: expected {size}")
    return np.array([number_of(text, item) for item in node.items])


def _sparse(text: Text, node: Node, domains: list[list[str]], default: float) -> Floats:
    """Read costs one by one, each after the values it belongs to, by name or by number."""
    shape = tuple(map(len, domains))
    table, given = np.full(shape, default), np.zeros(shape, dtype=np.bool_)
    step = len(domains) + 1
    if len(node.items) % step:
        raise error_at(text, node, f"found {len(node.items)} words: expected {step} for each cost")
    for k in range(0, len(node.items), step):
        place = []
        for item, domain in zip(node.items[k:], domains, strict=False):
            if item.word in domain:
                place.append(domain.index(item.word))
                continue
            value = -1 if item.is_name else _whole(text, item)
            if not 0 <= value < len(domain):
                raise error_at(text, item, f"{show(item)} is no value: expected {domain}")
            place.append(value)
        at = tuple(place)
        if given[at]:
            raise error_at(text, node.items[k], "these values have a cost already")
        given[at] = True
        table[at] = number_of(text, node.items[k + step - 1])
    return table.ravel()


def write(model: Model) -> str:
    """Write a model as a CFN file whose cost is minus the score, to be minimised.

    Costs keep every digit; the bound tells toulbar2 how many decimals to work with.
    """
    named = all(
        isinstance(label, str) and label.isprintable() and _SAFE.fullmatch(label)
        for label in model.labels
    )
    if not named:
        check_numbered(model, "cfn", 0)
    tables, bound = _tables(model)
    spelled = [(scope, [_spell(cost) for cost in table]) for scope, table in tables]
    decimals = max((len(c.partition(".")[2]) for _, table in spelled for c in table), default=0)
    largest = max((max(map(abs, table)) for _, table in tables), default=0.0)
    room = DIGITS - math.ceil(math.log10(largest + abs(bound)))
    mustbe = f"<{bound:.{max(0, min(decimals, room))}f}"
    if named:
        variables = "{" + ", ".join(f'"{label}": 2' for label in model.labels) + "}"
    else:
        variables = str([2] * model.n)
    functions = [
        f'"f{k}": {{"scope": {list(scope)}, "costs": [{", ".join(costs)}]}}'
        for k, (scope, costs) in enumerate(spelled)
    ]
    return (
        f'{{"problem": {{"name": "mapreroot", "mustbe": "{mustbe}"}},\n'
        f'"variables": {variables},\n'
        '"functions": {\n' + ",\n".join(functions) + "\n}}\n"
    )


def _tables(model: Model) -> tuple[list[tuple[tuple[int, ...], list[float]]], float]:
    """Give the scopes and costs, and a bound that is reached where a hard constraint is broken."""
    finite = without_penalty(model)
    tables: list[tuple[tuple[int, ...], list[float]]] = []
    if finite.constant:
        tables.append(((), [-finite.constant]))
    tables += [((i,), [0.0, -t]) for i, t in enumerate(finite.theta.tolist()) if t]
    for (i, j), w in zip(finite.edges.tolist(), finite.weights.tolist(), strict=True):
        tables.append(((i, j), [0.0, w / 2, w / 2, 0.0]))
    low = math.fsum(min(table) for _, table in tables)
    high = math.fsum(max(table) for _, table in tables)
    # Far enough above all totals for any rounding in a reader.
    reach = math.fsum(max(map(abs, table)) for _, table in tables)
    bound = math.floor(high + reach) + 1.0
    for row in model.forbidden:
        table = [0.0] * 2 ** (len(row) // 2)
        table[row[1] if len(row) == 2 else 2 * row[1] + row[3]] = 2 * (bound - low)
        tables.append((row[::2], table))
    return tables, bound


def _spell(cost: float) -> str:
    return np.format_float_positional(cost + 0.0, trim="-")
