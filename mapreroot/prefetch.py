"""Asking for memory before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["prefetch"]


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
