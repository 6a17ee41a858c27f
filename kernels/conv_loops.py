"""The loops of `nfa.kernels.conv`: a convolution as sums over examples as lanes, on blocks of `nfa.kernels.lanes`.

A place t = (c, i, j) of the kernel sees channel c shifted by i rows and j columns: in a block a run of memory, which
begins at[t] after the row's own beginning; at[-1] is the length of a row. Loops take four or five places and two or
four channels of z at a time, so that a number read serves several products, and no more than registers hold. What
fills up the last fours and fives counts for nothing.
"""

from numba import njit

TERMS = 32  # examples in a block where each one's own term is formed: a constant, so that loops over them unroll
POSITIONS = 4  # at a time, in the same loops

# A product is added in one rounding; the terms of a sum over examples and positions may be taken in another order.
loop = njit(nogil=True, error_model="numpy", fastmath={"contract"})
reordered = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@loop
def correlate(W, b, x, at, n, z, first, acc, start, stop):
    """z = W * x + b on rows start..stop of all blocks' rows: z (c_out, rows, columns, m) from x (blocks, flat),
    whose first lane is example ``first``.

    W (channels, places) and b are filled up to whole fours of channels; acc has room for the rows of a few.
    """
    c_out, rows, columns = z.shape[0], z.shape[1], z.shape[2]
    Q, width = columns * n, at[-1]
    for u in range(start, stop):
        g, r = u // rows, u % rows
        image = x[g, r * width :]
        for o0 in range(0, len(W), len(acc)):
            channels = min(len(acc), len(W) - o0)
            for o in range(channels):
                a, bias = acc[o], b[o0 + o]
                for q in range(Q):
                    a[q] = bias
            for t in range(0, W.shape[1] - 3, 4):
                x0, x1, x2, x3 = image[at[t] :], image[at[t + 1] :], image[at[t + 2] :], image[at[t + 3] :]
                for o in range(0, channels, 4):
                    p, u, s, v = W[o0 + o, t:], W[o0 + o + 1, t:], W[o0 + o + 2, t:], W[o0 + o + 3, t:]
                    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
                    u0, u1, u2, u3 = u[0], u[1], u[2], u[3]
                    s0, s1, s2, s3 = s[0], s[1], s[2], s[3]
                    v0, v1, v2, v3 = v[0], v[1], v[2], v[3]
                    a0, a1, a2, a3 = acc[o], acc[o + 1], acc[o + 2], acc[o + 3]
                    for q in range(Q):
                        y0, y1, y2, y3 = x0[q], x1[q], x2[q], x3[q]
                        e0 = a0[q] + p0 * y0 + p1 * y1 + p2 * y2 + p3 * y3
                        e1 = a1[q] + u0 * y0 + u1 * y1 + u2 * y2 + u3 * y3
                        e2 = a2[q] + s0 * y0 + s1 * y1 + s2 * y2 + s3 * y3
                        e3 = a3[q] + v0 * y0 + v1 * y1 + v2 * y2 + v3 * y3
                        a0[q], a1[q], a2[q], a3[q] = e0, e1, e2, e3
            for t in range(W.shape[1] // 4 * 4, W.shape[1]):
                x0 = image[at[t] :]
                for o in range(channels):
                    a0, p0 = acc[o], W[o0 + o, t]
                    for q in range(Q):
                        a0[q] += p0 * x0[q]
            lane = first + g * n
            there = min(n, z.shape[3] - lane)
            for o in range(min(channels, c_out - o0)):
                for s in range(columns):
                    into, a = z[o0 + o, r, s, lane:], acc[o, s * n :]
                    for q in range(there):
                        into[q] = a[q]


@reordered
def outer(dz, x, at, dW, start, stop):
    """dW[o, t] = sum over blocks, rows and places of dz[o] times what place t sees; t of five places start..stop."""
    blocks, c_out, rows, Q = dz.shape
    width = at[-1]
    for five in range(start, stop, 5):
        for g in range(blocks):
            for r in range(rows):
                image = x[g, r * width :]
                for o in range(0, c_out, 4):
                    d0, d1 = dz[g, o, r], dz[g, min(o + 1, c_out - 1), r]
                    d2, d3 = dz[g, min(o + 2, c_out - 1), r], dz[g, min(o + 3, c_out - 1), r]
                    for t in range(5 * five, 5 * min(five + 5, stop), 5):
                        x0, x1, x2 = image[at[t] :], image[at[t + 1] :], image[at[t + 2] :]
                        x3, x4 = image[at[t + 3] :], image[at[t + 4] :]
                        p0 = p1 = p2 = p3 = p4 = q0 = q1 = q2 = q3 = q4 = dz.dtype.type(0)
                        s0 = s1 = s2 = s3 = s4 = v0 = v1 = v2 = v3 = v4 = dz.dtype.type(0)
                        for q in range(Q):
                            y0, y1, y2, y3, y4 = x0[q], x1[q], x2[q], x3[q], x4[q]
                            e0, e1, e2, e3 = d0[q], d1[q], d2[q], d3[q]
                            p0 += e0 * y0
                            p1 += e0 * y1
                            p2 += e0 * y2
                            p3 += e0 * y3
                            p4 += e0 * y4
                            q0 += e1 * y0
                            q1 += e1 * y1
                            q2 += e1 * y2
                            q3 += e1 * y3
                            q4 += e1 * y4
                            s0 += e2 * y0
                            s1 += e2 * y1
                            s2 += e2 * y2
                            s3 += e2 * y3
                            s4 += e2 * y4
                            v0 += e3 * y0
                            v1 += e3 * y1
                            v2 += e3 * y2
                            v3 += e3 * y3
                            v4 += e3 * y4
                        for w, total in (
                            (dW[o, t:], (p0, p1, p2, p3, p4)),
                            (dW[o + 1, t:], (q0, q1, q2, q3, q4)),
                            (dW[o + 2, t:], (s0, s1, s2, s3, s4)),
                            (dW[o + 3, t:], (v0, v1, v2, v3, v4)),
                        ):
                            w[0] += total[0]
                            w[1] += total[1]
                            w[2] += total[2]
                            w[3] += total[3]
                            w[4] += total[4]


@reordered
def form(dz, x, at, places, norms, terms, keep, acc, start, stop):
    """Each example's own term for the fives start..stop of places: its squares into norms, and itself kept or not.

    Two channels and `POSITIONS` positions at a time, which divide Q; acc holds ten entries of the terms.
    """
    blocks, c_out, rows, Q = dz.shape
    width = at[-1]
    for few in range(start, stop, 5):
        for g in range(blocks):
            for o in range(0, c_out, 2):
                p = min(o + 1, c_out - 1)
                for five in range(few, min(few + 5, stop)):
                    t = 5 * five
                    b0, b1, b2, b3, b4 = at[t], at[t + 1], at[t + 2], at[t + 3], at[t + 4]
                    for q in range(10 * TERMS):
                        acc[q] = 0
                    for r in range(rows):
                        for s in range(0, Q, POSITIONS * TERMS):
                            d, e, image = dz[g, o, r, s:], dz[g, p, r, s:], x[g, r * width + s :]
                            x0, x1, x2, x3, x4 = image[b0:], image[b1:], image[b2:], image[b3:], image[b4:]
                            for q in range(TERMS):
                                p0, p1, p2, p3, p4 = (
                                    acc[q],
                                    acc[q + TERMS],
                                    acc[q + 2 * TERMS],
                                    acc[q + 3 * TERMS],
                                    acc[q + 4 * TERMS],
                                )
                                q0, q1, q2 = acc[q + 5 * TERMS], acc[q + 6 * TERMS], acc[q + 7 * TERMS]
                                q3, q4 = acc[q + 8 * TERMS], acc[q + 9 * TERMS]
                                for k in range(0, POSITIONS * TERMS, TERMS):
                                    y0, y1, y2, y3, y4 = x0[q + k], x1[q + k], x2[q + k], x3[q + k], x4[q + k]
                                    u, v = d[q + k], e[q + k]
                                    p0 += u * y0
                                    p1 += u * y1
                                    p2 += u * y2
                                    p3 += u * y3
                                    p4 += u * y4
                                    q0 += v * y0
                                    q1 += v * y1
                                    q2 += v * y2
                                    q3 += v * y3
                                    q4 += v * y4
                                acc[q], acc[q + TERMS], acc[q + 2 * TERMS], acc[q + 3 * TERMS], acc[q + 4 * TERMS] = (
                                    p0,
                                    p1,
                                    p2,
                                    p3,
                                    p4,
                                )
                                acc[q + 5 * TERMS], acc[q + 6 * TERMS], acc[q + 7 * TERMS] = q0, q1, q2
                                acc[q + 8 * TERMS], acc[q + 9 * TERMS] = q3, q4
                    for i in range(1 + p - o):
                        for j in range(min(5, places - t)):
                            term, sums = acc[(5 * i + j) * TERMS :], norms[five, g * TERMS :]
                            for q in range(TERMS):
                                sums[q] += term[q] * term[q]
                            if keep:
                                into = terms[g, o + i, t + j]
                                for q in range(TERMS):
                                    into[q] = term[q]


@reordered
def add_up(terms, weight, dW, start, stop):
    """dW[e] = sum over blocks and lanes of weight times terms[block, e, lane]; a weight of 0 leaves the lane out."""
    blocks, _, n = terms.shape
    for g in range(blocks):
        w = weight[g]
        for e in range(start, stop):
            term, total = terms[g, e], dW.dtype.type(0)
            for q in range(n):
                total += w[q] * term[q] if w[q] != 0 else dW.dtype.type(0)
            dW[e] += total
