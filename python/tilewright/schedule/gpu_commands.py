"""The commands that map loops to the blocks and threads of a GPU.

They only say which loops these are; what a kernel is made of, which barriers it needs and where its
buffers live follows from the schedule. A mapping is checked like every other schedule: iterations
of loops over blocks, and of loops over threads, run at the same time.
"""

from __future__ import annotations

from typing import TypeVar

from ..base.errors import ScheduleError
from .command_arguments import integer, loop_name, text
from .receivers import CommandReceiver, Loop

__all__ = ["GpuCommands"]

Self = TypeVar("Self", bound="GpuCommands")


class GpuCommands(CommandReceiver):
    """The commands of this page."""

    __slots__ = ()

    def gpu(self: Self, *loops: Loop) -> Self:
        """Runs a computation on a GPU, an element for each thread.

        One to three loops, outermost first, are tiled, tiles become blocks and elements threads; the
        innermost loop is the x axis, along which neighbouring threads touch neighbouring elements.
        Blocks of one loop have 256 threads, of two loops 8 x 32, of three 4 x 4 x 32. Four or six
        loops are the two halves themselves, blocks and then threads.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``C.gpu(i, j)``::

            kernel:  # 32 x 8 threads a block
                for i0 in range(0, ceil(N / 8)):  # gpu_block_y
                    for j0 in range(0, ceil(M / 32)):  # gpu_block_x
                        for i1 in range(0, min(8, N - 8 * i0)):  # gpu_thread_y
                            for j1 in range(0, min(32, M - 32 * j0)):  # gpu_thread_x
                                C[8 * i0 + i1, 32 * j0 + j1] = ...

        Args:
            *loops: neighbouring loops, outermost first.
        """
        self._give("gpu", [loop_name(loop) for loop in loops])
        return self

    def gpu_tile(self: Self, *arguments: Loop | int) -> Self:
        """Tiles loops and maps tiles to blocks and what is in them to threads:
        `gpu_tile(i, j, t1, t2, i0, j0, i1, j1)`.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.gpu_tile(i, 64)``::

            kernel:  # 64 threads a block
                for i0 in range(0, ceil(N / 64)):  # gpu_block_x
                    for i1 in range(0, min(64, N - 64 * i0)):  # gpu_thread_x
                        C[64 * i0 + i1] = ...

        Args:
            *arguments: one to three neighbouring loops, outermost first; as many numbers of threads;
                and, where wanted, the names of all new loops: first those over tiles, then those in
                a tile.
        """
        given: list[str | int] = []
        for argument in arguments:
            is_number = not isinstance(argument, str) and not hasattr(argument, "name")
            given.append(
                integer(argument, "a number of threads") if is_number else loop_name(argument)
            )
        self._give("gpu_tile", given)
        return self

    def gpu_block(self: Self, *loops: Loop) -> Self:
        """Maps loops to the grid of blocks of a kernel.

        Blocks come first: no other loop of the computation may stand between them, and none of the
        kernel's outside. Loops outside of them run on the host, which launches the kernel in each
        of their iterations. All computations that share the outermost of them are one kernel.

        Before::

            for i0 in range(0, ceil(N / 64)):
                for i1 in range(0, min(64, N - 64 * i0)):
                    C[64 * i0 + i1] = ...

        After ``C.gpu_block("i0")``::

            kernel:  # 1 thread a block
                for i0 in range(0, ceil(N / 64)):  # gpu_block_x
                    for i1 in range(0, min(64, N - 64 * i0)):
                        C[64 * i0 + i1] = ...

        Args:
            *loops: one to three loops, outermost first; the innermost is x.
        """
        self._give("gpu_block", [loop_name(loop) for loop in loops])
        return self

    def gpu_thread(self: Self, *loops: Loop) -> Self:
        """Maps loops to the threads of a block.

        A loop over threads has a constant extent (tile it). Its iterations run at the same time;
        where it ends, or a loop around it goes on, threads wait for each other if, and only if, one
        touches what another one wrote: these barriers are placed by the library. What is in no loop
        over an axis is done by thread 0 along that axis.

        Where the iterations are terms of one element of a reduction (sum, prod, min, max, any, all),
        each thread adds up its own in a register; after the loops that add to the element the
        threads put theirs together, in warps by shuffles and between warps through shared memory,
        and thread 0 along the axis updates the element.

        Before::

            for i0 in range(0, ceil(N / 64)):  # gpu_block_x
                for i1 in range(0, min(64, N - 64 * i0)):
                    C[64 * i0 + i1] = ...

        After ``C.gpu_thread("i1")``::

            kernel:  # 64 threads a block
                for i0 in range(0, ceil(N / 64)):  # gpu_block_x
                    for i1 in range(0, min(64, N - 64 * i0)):  # gpu_thread_x
                        C[64 * i0 + i1] = ...

        Args:
            *loops: one to three loops, outermost first; the innermost is x. All threads of a block
                are at most 1024, those along z 64.
        """
        self._give("gpu_thread", [loop_name(loop) for loop in loops])
        return self

    def gpu_mma(
        self: Self, i: Loop, j: Loop, k: Loop | None = None, precision: str | None = None
    ) -> Self:
        """Gives a tile of 16 x 8 elements to a warp: its 32 threads, which are those along x, have
        them together, and tensor cores add up products of them.

        With a loop `k` the computation is a sum of products, ``tw.sum(tw.cast(A[i, k], tw.float32) *
        tw.cast(B[k, j], tw.float32), over={k: K})``, of factors of float16 or bfloat16 and sums of
        float32; the terms of a loop over `k` are one instruction. There are tiles of 16 x 8 x 16
        (from compute capability 8.0 on) and of 16 x 8 x 8 (of float16 from 7.5 on), and tiles of
        16 x 8 x 8 of float32 whose factors are rounded to ten bits of fraction, which must be asked
        for: ``precision="tf32"``. The terms are added in the hardware's order.

        Without `k` the elements of a tile are dealt out to the threads as the sums are: what is done
        with them before and after. `cache` gives its copies these loops without being told, so that
        sums kept in private memory stay in the threads' registers.

        Loops over threads (`gpu_thread`) beside them are along y and z: they count warps.

        Before::

            kernel:  # 1 thread a block
                for i0 in range(0, 4):  # gpu_block_y
                    for j0 in range(0, 4):  # gpu_block_x
                        for i1 in range(0, 16):
                            for j1 in range(0, 8):
                                C[16 * i0 + i1, 8 * j0 + j1] = 0
                        for k0 in range(0, 3):
                            for i1 in range(0, 16):
                                for j1 in range(0, 8):
                                    for k1 in range(0, 16):
                                        C[16 * i0 + i1, 8 * j0 + j1] += ...

        After ``C.gpu_mma("i1", "j1", "k1")``::

            kernel:  # 32 threads a block
                for i0 in range(0, 4):  # gpu_block_y
                    for j0 in range(0, 4):  # gpu_block_x
                        for i1 in range(0, 16):  # gpu_mma_m
                            for j1 in range(0, 8):  # gpu_mma_n
                                C[16 * i0 + i1, 8 * j0 + j1] = 0
                        for k0 in range(0, 3):
                            for i1 in range(0, 16):  # gpu_mma_m
                                for j1 in range(0, 8):  # gpu_mma_n
                                    for k1 in range(0, 16):  # gpu_mma_k
                                        C[16 * i0 + i1, 8 * j0 + j1] += ...

        Args:
            i: the loop over the tile's rows, of values 0 to 15 (the inner one of a split by 16).
            j: the loop over its columns, of values 0 to 7, directly inside.
            k: the loop over terms, of at most 16 or 8 iterations, directly inside and innermost.
            precision: "tf32" for products of float32; else None.
        """
        loops = [loop_name(i), loop_name(j)]
        if k is not None:
            loops.append(loop_name(k))
        if precision is not None:
            if k is None:
                raise ScheduleError("precision is of a product: gpu_mma(i, j, k, precision)")
            loops.append(text(precision, 'the precision, "tf32" or None,'))
        self._give("gpu_mma", loops)
        return self

    def gpu_spread(self: Self, *loops: Loop) -> Self:
        """Deals the iterations of loops out to all threads of the block, in the order in which they
        come, so that neighbouring threads touch neighbouring elements. What copies of arrays into
        shared memory (`cache` with ``memory="shared"``) have without being told.

        Before::

            kernel:  # 64 threads a block
                for i0 in range(0, ceil(N / 64)):  # gpu_block_x
                    for i in range(64 * i0, min(64 * i0 + 65, N + 1)):
                        A_cache[i - 64 * i0] = A[i]
                    barrier
                    for i1 in range(0, min(64, N - 64 * i0)):  # gpu_thread_x
                        C[64 * i0 + i1] = A_cache[i1] + A_cache[i1 + 1]

        After ``A_cache.gpu_spread(i)``::

            kernel:  # 64 threads a block
                for i0 in range(0, ceil(N / 64)):  # gpu_block_x
                    for i in range(64 * i0, min(64 * i0 + 65, N + 1)):  # gpu_spread
                        A_cache[i - 64 * i0] = A[i]
                    barrier
                    for i1 in range(0, min(64, N - 64 * i0)):  # gpu_thread_x
                        C[64 * i0 + i1] = A_cache[i1] + A_cache[i1 + 1]

        Args:
            *loops: one to three loops, directly inside each other, outermost first.
        """
        self._give("gpu_spread", [loop_name(loop) for loop in loops])
        return self
