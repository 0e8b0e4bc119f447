"""Bit counting, random numbers and borrowed arrays for kernels, the same under Numba and as plain Python.

Bit sets are non-negative ``int64`` (Numba turns mixed signed and unsigned arithmetic into floats).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from .jit import JIT_DISABLED, inlined_kernel, int64, kernel

__all__ = [
    "bit_count",
    "borrow",
    "copy_16",
    "count_ones",
    "index_of_one",
    "mix_uint64",
    "next_uint64",
    "random_below",
    "shuffle",
    "trailing_zeros",
]

_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_MASK = 0xFFFFFFFFFFFFFFFF

if JIT_DISABLED:

    def borrow(array: Any) -> Any:
        """Return a view of an argument for use in a loop."""
        return array

    def copy_16(table: Any, row: int, vector: Any, start: int) -> None:
        """Copy a row of 16 bytes of a C-contiguous ``int8`` table to ``vector[start : start + 16]``."""
        vector[start : start + 16] = table[row]

    def _load_8(vector: Any, start: int) -> int:
        """Return eight bytes of a C-contiguous ``int8`` vector as one number."""
        return int(vector[start : start + 8].view(np.int64)[0])

    def bit_count(bits: int) -> int:
        """Return the number of bits set."""
        return int(bits).bit_count()

    def trailing_zeros(bits: int) -> int:
        """Return the index of the lowest bit set; ``bits`` must not be 0."""
        bits = int(bits)
        return (bits & -bits).bit_length() - 1

    def mix_uint64(value: Any) -> Any:
        """Return SplitMix64's output function of a 64-bit value."""
        z = int(value)
        z = (z ^ (z >> 30)) * _MIX_1 & _MASK
        z = (z ^ (z >> 27)) * _MIX_2 & _MASK
        return np.uint64(z ^ (z >> 31))

    def next_uint64(rngs: Any, lane: int) -> Any:
        """Return the next 64 random bits of a lane's stream (SplitMix64: Steele, Lea and Flood 2014)."""
        rngs[lane] = np.uint64((int(rngs[lane]) + _GOLDEN) & _MASK)
        return mix_uint64(rngs[lane])

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def borrow(typing_context: Any, array: Any) -> Any:
        """Return a view of an argument without ownership, for use in a loop: rows taken from it are not counted.

        Counting references with atomic instructions costs more than a whole mask does.
        """

        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            view = make_array(signature.args[0])(context, builder, args[0])
            view.meminfo = cgutils.get_null_value(view.meminfo.type)
            view.parent = cgutils.get_null_value(view.parent.type)
            return view._getvalue()

        return array(array), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def _copy_16(typing_context: Any, table: Any, row: Any, vector: Any, start: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            block = ir.VectorType(ir.IntType(8), 16).as_pointer()
            source = make_array(signature.args[0])(context, builder, args[0]).data
            target = make_array(signature.args[2])(context, builder, args[2]).data
            sixteen = ir.Constant(ir.IntType(64), 16)
            from_row = builder.bitcast(builder.gep(source, [builder.mul(args[1], sixteen)]), block)
            to_start = builder.bitcast(builder.gep(target, [args[3]]), block)
            load = builder.load(from_row)
            load.align = 1
            builder.store(load, to_start, align=1)
            return context.get_dummy_value()

        return types.none(table, types.int64, vector, types.int64), codegen

    @kernel
    def copy_16(table: Any, row: int, vector: Any, start: int) -> None:
        """Copy a row of 16 bytes of a C-contiguous ``int8`` table to ``vector[start : start + 16]``."""
        _copy_16(table, int64(row), vector, int64(start))

    @intrinsic  # type: ignore[untyped-decorator]
    def _load_8(typing_context: Any, vector: Any, start: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            source = make_array(signature.args[0])(context, builder, args[0]).data
            load = builder.load(builder.bitcast(builder.gep(source, [args[1]]), ir.IntType(64).as_pointer()))
            load.align = 1
            return load

        return types.int64(vector, types.int64), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def _ctpop(typing_context: Any, bits: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.int64(types.int64), codegen

    @intrinsic  # type: ignore[untyped-decorator]
    def _cttz(typing_context: Any, bits: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.int64), codegen

    @kernel
    def bit_count(bits: int) -> int:
        """Return the number of bits set."""
        return _ctpop(int64(bits))

    @kernel
    def trailing_zeros(bits: int) -> int:
        """Return the index of the lowest bit set; ``bits`` must not be 0."""
        return _cttz(int64(bits))

    @kernel
    def mix_uint64(value: Any) -> Any:
        """Return SplitMix64's output function of a 64-bit value."""
        z = value
        z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX_1)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX_2)
        return z ^ (z >> np.uint64(31))

    @kernel
    def next_uint64(rngs: Any, lane: int) -> Any:
        """Return the next 64 random bits of a lane's stream (SplitMix64: Steele, Lea and Flood 2014)."""
        rngs[lane] += np.uint64(_GOLDEN)
        return mix_uint64(rngs[lane])


@inlined_kernel
def count_ones(mask: Any) -> int:
    """Return how many entries of a C-contiguous ``int8`` vector of zeros and ones are 1."""
    words = len(mask) // 8
    count = int64(0)
    for word in range(words):
        count += bit_count(_load_8(mask, int64(8 * word)))
    for i in range(8 * words, len(mask)):
        count += mask[i]
    return count


@inlined_kernel
def index_of_one(mask: Any, rank: int) -> int:
    """Return the index of the entry 1 that has ``rank`` others before it, in a vector as :func:`count_ones` takes."""
    words = len(mask) // 8
    left = int64(rank)
    i = 8 * words
    for word in range(words):
        count = bit_count(_load_8(mask, int64(8 * word)))
        if left < count:
            i = 8 * word
            break
        left -= count
    while mask[i] == 0 or left > 0:
        left -= mask[i]
        i += 1
    return i


@inlined_kernel
def random_below(rngs: Any, lane: int, bound: int) -> int:
    """Return a uniform integer in ``[0, bound)``, ``bound`` at most 2**31 (bias below bound / 2**32)."""
    return int64(((next_uint64(rngs, lane) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
def shuffle(rngs: Any, lane: int, order: Any) -> None:
    """Fill ``order`` with a uniform permutation of ``0 .. len(order) - 1`` (inside-out Fisher-Yates)."""
    for i in range(len(order)):
        j = random_below(rngs, lane, i + 1)
        order[i] = order[j]
        order[j] = i
