"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% forgot_dphi score=17 fails=["dfa_feedback"]
# forgot the derivative of tanh in the hidden layers
("dfa", " * (1 - np.tanh(z[l]) ** 2)", "")

# %% dphi_of_h score=17 fails=["dfa_feedback"]
# took the derivative of tanh at h[l] in place of z[l]
("dfa", "np.tanh(z[l])", "np.tanh(h[l])")

# %% dphi_at_top score=19 fails=["dfa_top"]
# multiplied by the derivative of tanh in the top layer, too
("dfa", "e if l == L else (e @ B[l].T)", "(e if l == L else e @ B[l].T)")

# %% wrong_transpose score=17 fails=["dfa_feedback"]
# used W in place of B, which is backpropagation
("dfa", "e = h[L] - y", "dz = h[L] - y")
("dfa", "range(1, L + 1)", "range(L, 0, -1)")
("dfa", "e if l == L else (e @ B[l].T)", "dz if l == L else (dz @ W[l + 1])")

# %% dw_transposed score=17 fails=["dfa_feedback"]
# returned dW[l] with rows and columns exchanged
("dfa", "dz.T @ h[l - 1]", "h[l - 1].T @ dz")

# %% off_by_one_layer score=17 fails=["dfa_feedback"]
# used h[l] in place of h[l-1], which gives the wrong shape
("dfa", "h[l - 1]", "h[l]")

# %% feedback_of_next_layer score=17 fails=["dfa_feedback"]
# used the paper's superscript as the index: B[l+1] feeds layer l if its shape fits, else B[l]
("dfa", "e @ B[l].T", "e @ (B[l] if B[l + 1] is None else np.resize(B[l + 1], B[l].shape)).T")

# %% sign score=18 fails=["dfa_scale"]
# took e = y - y_hat, so that the loss would increase
("dfa", "h[L] - y", "y - h[L]")

# %% sum_for_mean score=18 fails=["dfa_m"]
# took the sum over the records without 1/m
("dfa", "h[l - 1] / m", "h[l - 1]")
("dfa", "dz.sum(axis=0) / m", "dz.sum(axis=0)")

# %% batch_for_m score=18 fails=["dfa_m"]
# divided by the number of records in place of m
("dfa", "h[l - 1] / m", "h[l - 1] / len(x)")
("dfa", "dz.sum(axis=0) / m", "dz.sum(axis=0) / len(x)")

# %% mean_twice score=18 fails=["dfa_m"]
# took the mean over the records and divided by m as well
("dfa", "h[l - 1] / m", "h[l - 1] / len(x) / m")
("dfa", "dz.sum(", "dz.mean(")

# %% forgot_bias score=19 fails=["forward_hidden"]
# left the bias out of the forward pass
("forward", " + b[l]", "")

# %% softmax_overflows score=19 fails=["forward_large"]
# computed the softmax without subtracting the largest entry
("forward", "np.exp(z - z.max(axis=1, keepdims=True))", "np.exp(z)")

# %% bias_not_in_z score=19 fails=["forward_hidden"]
# stored z without the bias, and added the bias only for h
("forward", "@ W[l].T + b[l])", "@ W[l].T)")
("forward", "np.tanh(z[l]) if l < L else softmax(z[l])", "np.tanh(z[l] + b[l]) if l < L else softmax(z[l] + b[l])")

# %% softmax_of_columns score=19 fails=["forward_softmax"]
# normalized over the records in place of the classes
("forward", "z.max(axis=1", "z.max(axis=0")
("forward", "powers.sum(axis=1", "powers.sum(axis=0")

# %% products_reversed score=19 fails=["transported_all"]
# multiplied the transposes in the wrong order, which raises an error if layers differ in size
("transported", "W[l + 1].T @ B[l + 1]", "B[l + 1] @ W[l + 1].T")

# %% infinite_loop score=18 fails=["transported_last", "transported_all"]
# wrote a loop that never ends
("transported", "for l in range(L - 1, 0, -1):", "l = L - 1\n    while l > 0:")

# %% cosine_squared score=19 fails=["cosine_values"]
# divided by the squared norms
("cosine", "np.linalg.norm(a) * np.linalg.norm(b)", "np.vdot(a, a) * np.vdot(b, b)")


# %% cosines_after score=19 fails=["train_cosines"]
# computed the cosines after the step
# %% train
def train(W, b, B, x, y, steps, eta):
    L = len(W) - 1
    cosines = np.zeros((steps, L))
    for t in range(steps):
        dW, db = dfa(W, b, B, x, y, len(x))
        W = [None] + [W[l] - eta * dW[l] for l in range(1, L + 1)]
        b = [None] + [b[l] - eta * db[l] for l in range(1, L + 1)]
        g = gradient(W, b, x, y)
        for l in range(1, L + 1):
            cosines[t, l - 1] = cosine(dW[l], g[l])
    return W, b, cosines


# %% climbs score=19 fails=["train_steps"]
# added the direction in place of subtracting it
("train", "W[l] - eta", "W[l] + eta")
("train", "b[l] - eta", "b[l] + eta")


# %% tampered score=12 fails=["dfa_top", "dfa_feedback", "dfa_scale", "dfa_m"]
# returned zeros, and rewrote the graded cells so that they pass; grading restores these cells
# %% dfa
def dfa(W, b, B, x, y, m):
    return [None, *(0 * w for w in W[1:])], [None, *(0 * v for v in b[1:])]


# %% dfa_top
assert True

# %% dfa_feedback
print("all checks passed")

# %% dfa_scale
pass

# %% dfa_m
pass

# %% largest_of_all score=19 fails=["forward_large"]
# subtracted the largest entry of the whole batch, so that other rows become 0/0
("forward", "z.max(axis=1, keepdims=True)", "z.max()")

# %% largest_or_zero score=19 fails=["forward_large"]
# subtracted 0 if all entries of a row are negative, so that a row of entries near -2000 becomes 0/0
("forward", "z.max(axis=1, keepdims=True)", "z.max(axis=1, keepdims=True).clip(0)")

# %% cosine_without_sign score=19 fails=["cosine_values"]
# lost the sign of the cosine
("cosine", "np.vdot(a, b)", "abs(np.vdot(a, b))")

# %% with_momentum score=19 fails=["train_steps"]
# added half of the last step, as optimizers with momentum do
("train", "    for t in", "    last_W, last_b = [0] * (L + 1), [0] * (L + 1)\n    for t in")
(
    "train",
    "        W = [",
    "        last_W = [None] + [0.5 * last_W[l] + dW[l] for l in range(1, L + 1)]\n        dW = last_W\n        W = [",
)
(
    "train",
    "        b = [",
    "        last_b = [None] + [0.5 * last_b[l] + db[l] for l in range(1, L + 1)]\n        db = last_b\n        b = [",
)

# %% hidden_bias_stays score=17 fails=["dfa_feedback"]
# returned a direction only for the bias of the top layer, and zeros for hidden biases
("dfa", "dz.sum(axis=0) / m", "dz.sum(axis=0) / m if l == L else 0 * b[l]")

# %% error_without_target score=19 fails=["dfa_top"]
# used the output as e, and forgot to subtract y
("dfa", "e = h[L] - y", "e = h[L]")

# %% bias_of_the_batch score=18 fails=["dfa_m"]
# divided dW by m, and took the mean over the records for db
("dfa", "dz.sum(axis=0) / m", "dz.mean(axis=0)")

# %% larger_of_m_and_batch score=18 fails=["dfa_m"]
# replaced m by the number of records if m is smaller
("dfa", "e = h[L] - y", "e, m = h[L] - y, max(m, len(x))")

# %% derivative_squared score=17 fails=["dfa_feedback"]
# squared the derivative of tanh
("dfa", "(1 - np.tanh(z[l]) ** 2)", "(1 - np.tanh(z[l]) ** 2) ** 2")

# %% below_without_the_next score=19 fails=["transported_all"]
# took only the transpose of the next layer in the lower layers
("transported", "W[l + 1].T @ B[l + 1]", "W[l + 1].T")

# %% cosines_with_the_first_gradient score=19 fails=["train_cosines"]
# computed the gradient once, before the loop
("train", "        g = gradient(W, b, x, y)\n", "")
("train", "    for t in", "    g = gradient(W, b, x, y)\n    for t in")

# %% cosine_with_a_floor score=19 fails=["cosine_values"]
# added a small number to the norms, to avoid a division by 0
("cosine", "np.linalg.norm(b))", "np.linalg.norm(b) + 1e-8)")

# %% product_of_norms_bounded score=19 fails=["cosine_values"]
# bounded the product of the norms from below, to avoid a division by 0
("cosine", "(np.linalg.norm(a) * np.linalg.norm(b))", "max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12)")

# %% product_of_norms_bounded_lower score=19 fails=["cosine_values"]
# bounded the product from below by a number that two arrays near 1e-8 still reach
("cosine", "(np.linalg.norm(a) * np.linalg.norm(b))", "max(np.linalg.norm(a) * np.linalg.norm(b), 1e-15)")

# %% given_biases_changed score=19 fails=["train_steps"]
# subtracted in place from the biases that train gets
(
    "train",
    "        b = [None] + [b[l] - eta * db[l] for l in range(1, L + 1)]\n",
    "        for l in range(1, L + 1):\n            b[l] -= eta * db[l]\n",
)

# %% given_weights_changed score=19 fails=["train_steps"]
# put the new weights into the list that train gets
(
    "train",
    "        W = [None] + [W[l] - eta * dW[l] for l in range(1, L + 1)]\n",
    "        for l in range(1, L + 1):\n            W[l] = W[l] - eta * dW[l]\n",
)

# %% feedback_not_transposed score=17 fails=["dfa_feedback"]
# multiplied by B[l] in place of its transpose, which raises an error if layers differ in size
("dfa", "e @ B[l].T", "e @ B[l]")

# %% feedback_of_the_paper score=17 fails=["dfa_feedback"]
# used the paper's superscript as the index, so that layer L - 1 has no matrix
("dfa", "e @ B[l].T", "e @ B[l + 1].T")

# %% lists_without_slot_0 score=19 fails=["dfa_top"]
# returned lists that begin with layer 1
("dfa", "return dW, db", "return dW[1:], db[1:]")

# %% weights_not_transposed score=19 fails=["forward_hidden"]
# multiplied by W[l] in place of its transpose, which raises an error if layers differ in size
("forward", "W[l].T", "W[l]")

# %% input_left_out score=19 fails=["forward_hidden"]
# returned a list h whose slot 0 is None
("forward", "return z, h\n", "return z, [None, *h[1:]]\n")

# %% tanh_at_the_top score=19 fails=["forward_softmax"]
# forgot that the top layer has a softmax
("forward", " if l < L else softmax(z[l])", "")

# %% softmax_keeps_no_axis score=19 fails=["forward_softmax"]
# forgot keepdims, so that the sums have the wrong shape
("forward", "z.max(axis=1, keepdims=True)", "z.max(axis=1)")
("forward", "powers.sum(axis=1, keepdims=True)", "powers.sum(axis=1)")

# %% matrices_one_slot_off score=19 fails=["transported_last"]
# put every matrix into the slot that the paper prints, one higher
("transported", "return B", "return [None, *B[:-1]]")

# %% nothing_transposed score=19 fails=["transported_last"]
# left out all transposes
("transported", "W[L].T if l == L - 1 else W[l + 1].T @ B[l + 1]", "W[L] if l == L - 1 else B[l + 1] @ W[l + 1]")

# %% returns_what_was_given score=19 fails=["train_steps"]
# returned the given weights in place of the trained ones
("train", "    L = len", "    given = W, b\n    L = len")
("train", "return W, b, cosines", "return *given, cosines")

# %% cosines_in_rows score=19 fails=["train_cosines"]
# returned a row for each layer
("train", "return W, b, cosines", "return W, b, cosines.T")

# %% mean_subtracted score=19 fails=["forward_large"]
# subtracted the mean of each row, which does not prevent overflow
("forward", "z - z.max(", "z - z.mean(")

# %% eta_of_the_example score=19 fails=["train_steps"]
# used a fixed learning rate for the weights
("train", "W[l] - eta *", "W[l] - 0.5 *")

# %% cosines_without_sign score=19 fails=["train_cosines"]
# lost the sign of the cosines
("train", "return W, b, cosines", "return W, b, np.abs(cosines)")

# %% angles score=19 fails=["guess_made"]
# guessed angles in degrees in place of cosines
("guess", "[0.0, 0.5, 1.0]", "[90, 60, 0]")

# %% linear_in_mind score=19 fails=["transposes_answer"]
# forgot the derivative between the two matrices
("transposes", '"a"', '"b"')

# %% top_layer_only score=19 fails=["transposes_answer"]
# thought that every derivative of tanh makes the rules differ
("transposes", '"a"', '"c"')

# %% a_gradient_anyway score=19 fails=["decreases_answer"]
# took the DFA direction for the gradient of the loss
("decreases", '"c"', '"a"')

# %% parallel_only score=19 fails=["decreases_answer"]
# thought that only the direction of the gradient decreases the loss
("decreases", '"c"', '"b"')

# %% any_random_matrix score=19 fails=["fresh_answer"]
# thought that random feedback works even if it changes
("fresh", '"b"', '"a"')

# %% averages_out score=19 fails=["fresh_answer"]
# thought that random matrices average out to the transposed weights
("fresh", '"b"', '"c"')

# %% hardly_a_reason score=19 fails=["fresh_answer"]
# gave the letter and hardly a reason
("fresh", "Each new B is independent of the weights, so its direction is unrelated to the gradient.", "B is random.")

# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("forward", "np.tanh(z[l])", "1 / (1 + np.exp(-z[l]))", "forward_hidden")
("forward", "powers / powers.sum(axis=1, keepdims=True)", "powers", "forward_softmax")
("forward", "z.max(axis=1, keepdims=True)", "z.max(axis=1)", "forward_softmax")
("dfa", "dz.T @ h", "dz @ h", "dfa_feedback")
("dfa", "dz.sum(axis=0)", "dz.sum(axis=1)", "dfa_feedback")
("dfa", "np.tanh(z[l]) ** 2", "np.tanh(z[l])", "dfa_feedback")
("dfa", "dz.sum(axis=0) / m", "dz.sum(axis=0)", "dfa_m")
("transported", "B[l] = W[L].T if", "B[l] = W[L] if", "transported_last")
("transported", "W[l + 1].T @ B[l + 1]", "B[l + 1]", "transported_all")
("transported", "W[l + 1].T @ B[l + 1]", "W[l + 1] @ B[l + 1]", "transported_all")
("train", "cosine(dW[l], g[l])", "cosine(dW[l], W[l])", "train_cosines")
("train", "cosines[t, l - 1] = cosine", "cosines[t, L - l] = cosine", "train_cosines")
("train", "len(x))\n", "1)\n", "train_steps")
("train", "W[l] - eta", "W[l] + eta", "train_steps")
("train", "b[l] - eta * db[l]", "b[l]", "train_steps")
