"""Asking for memory before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from mapreroot.trees.cover import Ids
from mapreroot.trees.extended import Int
from mapreroot.trees.records import Records, head

__all__ = ["AHEAD", "look_ahead"]

AHEAD = 8  # items between a record's first request and its use; one more level per item
RING = 16  # a power of two above AHEAD


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Start loading the cache line of ``array[index]``; no effect otherwise."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer_type, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), pointer_type)
        kind = ir.FunctionType(ir.VoidType(), [pointer_type, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer_type], kind)
        to_read, keep_in_all_caches, data_not_code = number(0), number(3), number(1)
        builder.call(call, [place, to_read, keep_in_all_caches, data_not_code])
        return context.get_dummy_value()

    return types.void(array, index), build


@njit(cache=True)
def look_ahead(R: Records, at: Ids, j: Int, ring: Ids) -> None:
    """Before item j of a batch: request records of the next items, a level more of each.

    Start with j = -AHEAD and a ring of zeros.
    """
    for level in range(AHEAD):
        item = j + AHEAD - level
        if 0 <= item < len(at):
            x = at[item] if level == 0 else R.I[head(R, ring[item % RING])]
            ring[item % RING] = x
            word = head(R, x) // 2
            for line in range(3 if R.k == 2 else 8):
                prefetch(R.F, min(word + 8 * line, len(R.F) - 1))
