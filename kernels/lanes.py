"""Examples as lanes: images laid as (channel, row, column, example), where a shift of the image is a shift in memory.

So a convolution adds up shifted rows of whole blocks of examples, with loops that run along memory; patches are never
laid out. What a kernel returns keeps this order in memory, seen as (example, channel, row, column).
"""

from nfa.kernels import cores

LANES = 64  # examples in a block, about: the rows that one loop runs over stay in the nearest cache
AT_ONCE = 1 << 23  # entries that are laid out at a time: a batch's part stays in the last cache
SMALL = 1 << 16  # entries that are not worth a thread
PRODUCTS = 1 << 20  # nor as many products


def block(m):
    """(number of blocks, examples in each), with room for m in all: more than 16 are a multiple of 16."""
    lanes = -(-m // max(1, round(m / LANES)))
    lanes = -(-lanes // 16) * 16 if lanes > 16 else max(1, lanes)
    return -(-m // lanes), lanes


def parts(m, entries):
    """Slices of a batch of m examples of so many entries each, as many at a time as are laid out."""
    at_once = max(1, AT_ONCE // (LANES * max(1, entries))) * LANES
    at_once = m if m <= at_once * 3 // 2 else at_once
    return [slice(start, min(start + at_once, m)) for start in range(0, m, max(1, at_once))]


def empty(m, shape, dtype):
    """Room for m examples of a shape (c, H, W) as lanes: what `examples_first` turns round."""
    return cores.aligned((*shape, m), dtype)


def examples_first(lanes):
    """An array (c, H, W, m) seen as (m, c, H, W), in place."""
    return lanes.transpose(3, 0, 1, 2)


def lay(a, pad, blocks, lanes):
    """Lay a (m, c, H, W) out in blocks (blocks, c, rows, columns, lanes), zeros around it.

    pad is their number (above, below, left, right), where negative numbers cut rows and columns off. Lanes without an
    example are 0.
    """
    _, c, H, W = a.shape
    above, below, left, right = pad
    rows, columns = H + above + below, W + left + right
    out = cores.aligned((blocks, c, rows, columns, lanes), a.dtype)
    seen = a[:, :, max(0, -above) : H - max(0, -below), max(0, -left) : W - max(0, -right)].transpose(1, 2, 3, 0)
    top, first = max(0, above), max(0, left)
    bottom, last = top + seen.shape[1], first + seen.shape[2]

    def work(start, stop):
        for g in range(blocks):
            here, there = out[g, start:stop], seen[start:stop, :, :, g * lanes : (g + 1) * lanes]
            if here[0].size > there[0].size:
                here[...] = 0
            here[:, top:bottom, first:last, : there.shape[3]] = there

    cores.share(work, c, 1 + SMALL * c // max(1, out.size))
    return out
