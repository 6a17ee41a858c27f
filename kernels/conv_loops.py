"""The loops of `nfa.kernels.conv`: a convolution as sums over examples as lanes, on blocks of `nfa.kernels.lanes`.

A place t = (c, i, j) of the kernel sees channel c shifted by i rows and j columns: in a block a run of memory, which
begins at[t] after the row's own beginning; at[-1] is the length of a row. Loops take five places and four channels, or
two, of z at a time, so that a number read is used several times. The last five are filled up with places that count
for nothing, and so are the last channels.
"""

from numba import njit

TERMS = 32  # examples in a block where each one's own term is formed: a constant, so that loops over them unroll

# A product is added in one rounding; the terms of a sum over examples and positions may be taken in another order.
loop = njit(nogil=True, error_model="numpy", fastmath={"contract"})
reordered = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@loop
def correlate(W, b, x, at, n, z, acc, start, stop):
    """z = W * x + b on rows start..stop of all blocks' rows: z (c_out, rows, columns, m) from x (blocks, flat).

    at[t] is where place t of W (multiple of 4 channels, places) begins in a block, before the row.
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
            for t in range(0, W.shape[1] - 4, 5):
                x0, x1, x2, x3, x4 = (
                    image[at[t] : at[t] + Q],
                    image[at[t + 1] : at[t + 1] + Q],
                    image[at[t + 2] : at[t + 2] + Q],
                    image[at[t + 3] : at[t + 3] + Q],
                    image[at[t + 4] : at[t + 4] + Q],
                )
                for o in range(0, channels, 4):
                    p, q_, s, v = W[o0 + o], W[o0 + o + 1], W[o0 + o + 2], W[o0 + o + 3]
                    p0, p1, p2, p3, p4 = p[t], p[t + 1], p[t + 2], p[t + 3], p[t + 4]
                    q0, q1, q2, q3, q4 = q_[t], q_[t + 1], q_[t + 2], q_[t + 3], q_[t + 4]
                    s0, s1, s2, s3, s4 = s[t], s[t + 1], s[t + 2], s[t + 3], s[t + 4]
                    v0, v1, v2, v3, v4 = v[t], v[t + 1], v[t + 2], v[t + 3], v[t + 4]
                    a0, a1, a2, a3 = acc[o], acc[o + 1], acc[o + 2], acc[o + 3]
                    for q in range(Q):
                        y0, y1, y2, y3, y4 = x0[q], x1[q], x2[q], x3[q], x4[q]
                        e0 = a0[q] + p0 * y0 + p1 * y1 + p2 * y2 + p3 * y3 + p4 * y4
                        e1 = a1[q] + q0 * y0 + q1 * y1 + q2 * y2 + q3 * y3 + q4 * y4
                        e2 = a2[q] + s0 * y0 + s1 * y1 + s2 * y2 + s3 * y3 + s4 * y4
                        e3 = a3[q] + v0 * y0 + v1 * y1 + v2 * y2 + v3 * y3 + v4 * y4
                        a0[q], a1[q], a2[q], a3[q] = e0, e1, e2, e3
            for t in range(W.shape[1] // 5 * 5, W.shape[1]):
                x0 = image[at[t] : at[t] + Q]
                for o in range(channels):
                    a0, p0 = acc[o], W[o0 + o, t]
                    for q in range(Q):
                        a0[q] += p0 * x0[q]
            first = g * n
            there = min(n, z.shape[3] - first)
            for o in range(min(channels, c_out - o0)):
                for s in range(columns):
                    into, a = z[o0 + o, r, s, first:], acc[o, s * n :]
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
                        x0, x1, x2, x3, x4 = (
                            image[at[t] : at[t] + Q],
                            image[at[t + 1] : at[t + 1] + Q],
                            image[at[t + 2] : at[t + 2] + Q],
                            image[at[t + 3] : at[t + 3] + Q],
                            image[at[t + 4] : at[t + 4] + Q],
                        )
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
                        for i, (w0, w1, w2, w3, w4) in enumerate(
                            ((p0, p1, p2, p3, p4), (q0, q1, q2, q3, q4), (s0, s1, s2, s3, s4), (v0, v1, v2, v3, v4))
                        ):
                            w = dW[o + i]
                            w[t] += w0
                            w[t + 1] += w1
                            w[t + 2] += w2
                            w[t + 3] += w3
                            w[t + 4] += w4


def _positions(count):
    """A loop that adds ``count`` positions' products to ten entries of each example's term."""

    @njit(inline="always")
    def add(d, e, x0, x1, x2, x3, x4, acc):
        for q in range(TERMS):
            p0, p1, p2, p3, p4 = acc[q], acc[q + TERMS], acc[q + 2 * TERMS], acc[q + 3 * TERMS], acc[q + 4 * TERMS]
            q0, q1, q2 = acc[q + 5 * TERMS], acc[q + 6 * TERMS], acc[q + 7 * TERMS]
            q3, q4 = acc[q + 8 * TERMS], acc[q + 9 * TERMS]
            for k in range(0, count * TERMS, TERMS):
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
            acc[q], acc[q + TERMS], acc[q + 2 * TERMS], acc[q + 3 * TERMS], acc[q + 4 * TERMS] = p0, p1, p2, p3, p4
            acc[q + 5 * TERMS], acc[q + 6 * TERMS], acc[q + 7 * TERMS] = q0, q1, q2
            acc[q + 8 * TERMS], acc[q + 9 * TERMS] = q3, q4

    return add


_seven, _one = _positions(7), _positions(1)


@reordered
def form(dz, x, at, places, norms, terms, keep, acc, start, stop):
    """Each example's own term for the fives start..stop of places: its squares into norms, and itself kept or not.

    Two channels and seven positions at a time; acc holds ten entries of the terms.
    """
    blocks, c_out, rows, Q = dz.shape
    width = at[-1]
    sevens = Q // (7 * TERMS) * (7 * TERMS)
    for few in range(start, stop, 5):
        for g in range(blocks):
            for o in range(0, c_out, 2):
                p = min(o + 1, c_out - 1)
                for five in range(few, min(few + 5, stop)):
                    t = 5 * five
                    for q in range(10 * TERMS):
                        acc[q] = 0
                    for r in range(rows):
                        d, e, image = dz[g, o, r], dz[g, p, r], x[g, r * width :]
                        x0, x1, x2 = image[at[t] :], image[at[t + 1] :], image[at[t + 2] :]
                        x3, x4 = image[at[t + 3] :], image[at[t + 4] :]
                        for s in range(0, sevens, 7 * TERMS):
                            _seven(d[s:], e[s:], x0[s:], x1[s:], x2[s:], x3[s:], x4[s:], acc)
                        for s in range(sevens, Q, TERMS):
                            _one(d[s:], e[s:], x0[s:], x1[s:], x2[s:], x3[s:], x4[s:], acc)
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
