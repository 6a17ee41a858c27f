"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% forgot_dphi score=19 fails=["deltas_hidden"]
# forgot the derivative of the sigmoid in the hidden layers
("deltas", " * h[l] * (1 - h[l])", "")

# %% dphi_of_h score=19 fails=["deltas_hidden"]
# took the derivative of the sigmoid at h[l] in place of z[l]
("deltas", "h[l] * (1 - h[l])", "sigmoid(h[l]) * (1 - sigmoid(h[l]))")

# %% derivative_of_layer_above score=19 fails=["deltas_hidden"]
# took the derivative of layer l + 1, before the product with W[l+1]
("deltas", "(dz[l + 1] @ W[l + 1]) * h[l] * (1 - h[l])", "(dz[l + 1] * h[l + 1] * (1 - h[l + 1])) @ W[l + 1]")

# %% dphi_at_top score=19 fails=["deltas_top"]
# multiplied by a derivative in the top layer, which e already contains
("deltas", "h[L] - y", "(h[L] - y) * h[L] * (1 - h[L])")

# %% wrong_transpose score=19 fails=["deltas_hidden"]
# took W in place of its transpose, which raises an error if layers differ in size
("deltas", "@ W[l + 1]", "@ W[l + 1].T")

# %% sign score=19 fails=["deltas_top"]
# took e = y - y_hat
("deltas", "h[L] - y", "y - h[L]")

# %% mean_too_early score=19 fails=["deltas_top"]
# divided by the number of records in deltas, and again in gradient
("deltas", "h[L] - y", "(h[L] - y) / len(y)")

# %% sum_for_mean score=19 fails=["gradient_scale"]
# summed the gradients over the records
("gradient", "h[l - 1] / len(x)", "h[l - 1]")
("gradient", "dz[l].mean(", "dz[l].sum(")

# %% dw_transposed score=19 fails=["gradient_direction"]
# returned dW[l] with rows and columns exchanged
("gradient", "dz[l].T @ h[l - 1]", "h[l - 1].T @ dz[l]")

# %% off_by_one_layer score=19 fails=["gradient_direction"]
# used h[l] in place of h[l-1], which gives the wrong shape
("gradient", "h[l - 1]", "h[l]")

# %% reads_z score=19 fails=["gradient_direction"]
# used z[l-1] in place of h[l-1]
("gradient", "h[l - 1]", "(x if l == 1 else z[l - 1])")


# %% hand_no_bias score=19 fails=["hand_forward"]
# left the bias out on paper, and computed the rest correctly from there
# %% by_hand
def by_hand():
    c = np.log(3)
    return {
        "z1": [0, -c],
        "h1": [1 / 2, 1 / 4],
        "z2": [c / 2, 2 * c],
        "y_hat": [0.1614, 0.8386],
        "e": [-0.8386, 0.8386],
        "dW2": [[-0.4193, -0.2096], [0.4193, 0.2096]],
        "dz1": [-0.9213, 1.0365],
        "dW1": [[-1.8426, -0.9213], [2.0729, 1.0365]],
    }


# %% hand_sign score=19 fails=["hand_top"]
# took e = y - y_hat on paper, and computed the rest correctly from there
# %% by_hand
def by_hand():
    c = np.log(3)
    return {
        "z1": [c, 0],
        "h1": [3 / 4, 1 / 2],
        "z2": [c, 3 * c],
        "y_hat": [1 / 10, 9 / 10],
        "e": [9 / 10, -9 / 10],
        "dW2": [[27 / 40, 9 / 20], [-27 / 40, -9 / 20]],
        "dz1": [27 / 40 * c, -27 / 20 * c],
        "dW1": [[27 / 20 * c, 27 / 40 * c], [-27 / 10 * c, -27 / 20 * c]],
    }


# %% hand_rows_of_W score=19 fails=["hand_below"]
# took W in place of its transpose on paper, where both matrices have the same shape
("by_hand", '"dz1": [-27 / 40 * c, 27 / 20 * c]', '"dz1": [-81 / 80 * c, 9 / 10 * c]')
(
    "by_hand",
    "[[-27 / 20 * c, -27 / 40 * c], [27 / 10 * c, 27 / 20 * c]]",
    "[[-81 / 40 * c, -81 / 80 * c], [9 / 5 * c, 9 / 10 * c]]",
)

# %% forgot_bias score=19 fails=["forward_hidden"]
# left the bias out of the forward pass
("forward", " + b[l]", "")

# %% bias_not_in_z score=19 fails=["forward_hidden"]
# stored z without the bias, and added the bias only for h
("forward", "@ W[l].T + b[l])", "@ W[l].T)")
("forward", "sigmoid(z[l]) if l < L else softmax(z[l])", "sigmoid(z[l] + b[l]) if l < L else softmax(z[l] + b[l])")

# %% top_z_left_out score=19 fails=["forward_hidden"]
# returned a list z without the top layer
("forward", "return z, h\n", "return z[:-1], h\n")

# %% softmax_of_columns score=19 fails=["forward_softmax"]
# normalized over the records in place of the classes
("forward", "z.max(axis=1", "z.max(axis=0")
("forward", "powers.sum(axis=1", "powers.sum(axis=0")

# %% softmax_of_h score=19 fails=["forward_softmax"]
# applied the sigmoid in the top layer, too, before the softmax
("forward", "else softmax(z[l])", "else softmax(sigmoid(z[l]))")

# %% mean_of_entries score=19 fails=["loss_values"]
# took the mean over classes and records
("loss", "np.sum(y * np.log(y_hat)) / len(y)", "np.mean(y * np.log(y_hat))")

# %% loss_summed score=19 fails=["loss_values"]
# summed the loss over the records
("loss", " / len(y)", "")

# %% forward_differences score=19 fails=["numerical_central"]
# took the one-sided difference
("numerical_gradient", "(f(up) - f(down)) / (2 * shift)", "(f(up) - f(v)) / shift")

# %% two_forgotten score=19 fails=["numerical_values"]
# divided by the shift in place of twice the shift
("numerical_gradient", "(2 * shift)", "shift")

# %% no_copy score=19 fails=["numerical_values"]
# gave one array two names, so that both points are the same
("numerical_gradient", "up, down = v.copy(), v.copy()", "up = down = v.copy()")

# %% all_at_once score=19 fails=["numerical_values"]
# shifted all entries at once
("numerical_gradient", "up[i] +=", "up +=")
("numerical_gradient", "down[i] -=", "down -=")

# %% shifts_for_powers score=19 fails=["guess_made"]
# guessed the shifts in place of p
("guess", "[5, 8, 2]", "[1e-5, 1e-8, 1e-2]")

# %% blames_taylor score=19 fails=["rounding_answer"]
# thought that Taylor's series leaves out more if the shift is smaller
("rounding", '"b"', '"a"')

# %% blames_equal_points score=19 fails=["rounding_answer"]
# thought that v + s is equal to v
("rounding", '"b"', '"c"')

# %% hardly_a_reason score=19 fails=["rounding_answer"]
# gave the letter and hardly a reason
("rounding", "Each f has an error of about 1e-16, and 1e-16 divided by 1e-12 is only 1e-4.", "Rounding.")

# %% both_learn score=19 fails=["confident_answer"]
# forgot that the squared error keeps the derivative of the softmax
("confident", '"c"', '"b"')

# %% neither_learns score=19 fails=["confident_answer"]
# forgot that the cross-entropy cancels the derivative of the softmax
("confident", '"c"', '"a"')

# %% norms_added score=19 fails=["norms_both"]
# added the norms by W and b in place of their squares
("norms", "np.sqrt(errors * (inputs + 1))", "np.sqrt(errors * inputs) + np.sqrt(errors)")


# %% norm_of_the_sum score=19 fails=["norms_W"]
# computed the norm of the gradient of the whole batch
# %% norms
def norms(dz, h):
    dW, db = dz.T @ h, dz.sum(axis=0)
    of_W, of_b = np.sum(dW**2), np.sum(db**2)
    return np.full(len(dz), np.sqrt(of_W)), np.full(len(dz), np.sqrt(of_W + of_b))


# %% infinite_loop score=18 fails=["norms_W", "norms_both"]
# wrote a loop that never ends
# %% norms
def norms(dz, h):
    by_W, both = np.zeros(len(dz)), np.zeros(len(dz))
    i = 0
    while i < len(dz):
        by_W[i] = np.linalg.norm(dz[i]) * np.linalg.norm(h[i])
        both[i] = np.hypot(by_W[i], np.linalg.norm(dz[i]))
    return by_W, both


# %% nothing_moves score=19 fails=["zero_moves"]
# thought that zeros stay zeros with all activations
("from_zero", "[1, 2, 3]", "[0, 0, 0]")

# %% all_move score=19 fails=["zero_moves"]
# thought that the counts do not depend on the activation
("from_zero", '"tanh": [0, 0, 0]', '"tanh": [1, 2, 3]')

# %% a_quarter_too_many score=19 fails=["fading_answer"]
# counted a derivative of the top layer
("fading", '"a"', '"b"')

# %% matrices_alone score=19 fails=["fading_answer"]
# forgot the derivatives of the sigmoids
("fading", '"a"', '"c"')


# %% positions_averaged score=19 fails=["kernel_values"]
# took the mean over the positions, too
("kernel_gradient", "np.sum(", "np.mean(")

# %% kernel_summed score=19 fails=["kernel_values"]
# added the gradients of the records without the mean
("kernel_gradient", " / len(x)", "")

# %% first_position score=19 fails=["kernel_values"]
# took only the first position of the kernel
("kernel_gradient", "np.sum(dz * x[:, p : p + rows, q : q + columns])", "np.sum(dz[:, 0, 0] * x[:, p, q])")

# %% image_and_error_exchanged score=19 fails=["kernel_values"]
# moved the kernel in the other direction
("kernel_gradient", "p : p + rows, q : q + columns", "len(dK) - 1 - p : len(dK) - 1 - p + rows, q : q + columns")


# %% tampered score=16 fails=["deltas_top", "deltas_hidden", "gradient_direction", "gradient_scale"]
# returned zeros, and rewrote the graded cells so that they pass; grading restores these cells
# %% deltas
def deltas(W, z, h, y):
    return [None, *(0 * t for t in z[1:])]


# %% gradient
def gradient(W, b, x, y):
    return [None, *(0 * w for w in W[1:])], [None, *(0 * v for v in b[1:])]


# %% deltas_top
assert True

# %% deltas_hidden
print("all checks passed")

# %% gradient_direction
pass

# %% gradient_scale
pass

# %% log_of_a_little_more score=19 fails=["loss_values"]
# added a hundredth to every y_hat, to avoid the logarithm of 0
("loss", "np.log(y_hat)", "np.log(y_hat + 0.01)")

# %% shifts_in_proportion score=19 fails=["numerical_values"]
# took shifts in proportion to the entries, and divided by the given shift
("numerical_gradient", "up[i] += shift", "own = shift * max(1.0, 2 * abs(v[i]))\n        up[i] += own")
("numerical_gradient", "down[i] -= shift", "down[i] -= own")

# %% derivative_from_z score=19 fails=["deltas_hidden"]
# used z in place of h in h (1 - h)
("deltas", "h[l] * (1 - h[l])", "z[l] * (1 - z[l])")

# %% largest_row_alone score=19 fails=["norms_W"]
# used the larger of the two squared norms in place of their product
("norms", "np.sqrt(errors * inputs),", "np.maximum(errors, inputs),")

# %% loss_of_classes_too score=19 fails=["loss_values"]
# took the mean over the classes as well
("loss", "np.sum(y * np.log(y_hat)) / len(y)", "np.mean(np.where(y > 0, np.log(y_hat), 0.0))")

# %% loss_clipped score=19 fails=["loss_values"]
# clipped y_hat at a hundredth, to avoid the logarithm of 0
("loss", "np.log(y_hat)", "np.log(np.clip(y_hat, 0.01, 1))")

# %% loss_with_a_floor score=19 fails=["loss_values"]
# added a small number to every y_hat before the logarithm
("loss", "np.log(y_hat)", "np.log(y_hat + 1e-5)")

# %% softmax_keeps_no_axis score=19 fails=["forward_softmax"]
# forgot keepdims, so that the sums have the wrong shape
("forward", "z.max(axis=1, keepdims=True)", "z.max(axis=1)")
("forward", "powers.sum(axis=1, keepdims=True)", "powers.sum(axis=1)")

# %% input_left_out score=19 fails=["forward_hidden"]
# returned a list h whose slot 0 is None
("forward", "return z, h\n", "return z, [None, *h[1:]]\n")

# %% one_side_stays score=19 fails=["numerical_central"]
# shifted only one of the two points, and divided by twice the shift
("numerical_gradient", "        down[i] -= shift\n", "")

# %% lists_without_slot_0 score=19 fails=["gradient_direction"]
# returned lists that begin with layer 1
("gradient", "return dW, db", "return dW[1:], db[1:]")

# %% deltas_of_h_and_z score=19 fails=["gradient_direction"]
# exchanged z and h in the call of deltas
("gradient", "deltas(W, z, h, y)", "deltas(W, h, z, y)")

# %% entries_not_squared score=19 fails=["norms_W"]
# added the entries of dz without squares
("norms", "np.sum(dz**2, axis=1)", "np.sum(dz, axis=1)")

# %% loss_kept_from_one score=19 fails=["loss_values"]
# clipped y_hat from above
("loss", "np.log(y_hat)", "np.log(np.minimum(y_hat, 0.99))")

# %% shift_of_its_own score=19 fails=["numerical_central"]
# replaced small shifts by a larger one
("numerical_gradient", "    found = np", "    shift = max(shift, 1e-4)\n    found = np")

# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("by_hand", '"z1": [c, 0]', '"z1": [0, -c]', "hand_forward")
("by_hand", '"h1": [3 / 4, 1 / 2]', '"h1": [1 / 4, 1 / 2]', "hand_forward")
("by_hand", '"y_hat": [1 / 10, 9 / 10]', '"y_hat": [1 / 4, 3 / 4]', "hand_forward")
("by_hand", '"e": [-9 / 10, 9 / 10]', '"e": [9 / 10, -9 / 10]', "hand_top")
("by_hand", "[[-27 / 40, -9 / 20], [27 / 40, 9 / 20]]", "[[-27 / 40, 27 / 40], [-9 / 20, 9 / 20]]", "hand_top")
("by_hand", '"dz1": [-27 / 40 * c, 27 / 20 * c]', '"dz1": [-27 / 10 * c, 27 / 5 * c]', "hand_below")
("forward", "W[l].T", "W[l]", "forward_hidden")
("forward", "return z, h", "return h, z", "forward_hidden")
("forward", "if l < L else softmax(z[l])", "", "forward_softmax")
("forward", "powers.sum(axis=1", "powers.sum(axis=0", "forward_softmax")
("numerical_gradient", "v.copy(), v.copy()", "v, v", "numerical_values")
("numerical_gradient", "f(up) - f(down)", "f(down) - f(up)", "numerical_values")
("numerical_gradient", "v.copy(), v.copy()", "v.copy(), v", "numerical_values")
("deltas", "h[l] * (1 - h[l])", "h[l + 1] * (1 - h[l + 1])", "deltas_hidden")
("deltas", "dz[l + 1] @", "dz[L] @", "deltas_hidden")
("deltas", "return dz", "return dz[1:]", "deltas_hidden")
("gradient", "dz[l].T @", "dz[l] @", "gradient_direction")
("gradient", " / len(x)", "", "gradient_scale")
("gradient", ".mean(axis=0)", ".sum(axis=0)", "gradient_scale")
(
    "gradient",
    "dz = deltas(W, z, h, y)",
    "dz = deltas(W, z, h, y)\n    dz = [None, *(-d for d in dz[1:])]",
    "gradient_scale",
)
(
    "norms",
    "np.sqrt(errors * inputs), np.sqrt(errors * (inputs + 1))",
    "errors * inputs, errors * (inputs + 1)",
    "norms_W",
)
("norms", "dz**2, axis=1", "dz**2, axis=0", "norms_W")
("norms", "dz**2, axis=1", "dz**2", "norms_W")
(
    "norms",
    "np.sum(dz**2, axis=1), np.sum(h**2, axis=1)",
    "np.sum(dz, axis=1) ** 2, np.sum(h, axis=1) ** 2",
    "norms_W",
)
("norms", "(inputs + 1)", "inputs + 1", "norms_both")
("from_zero", "[1, 2, 3]", "[0, 1, 2]", "zero_moves")
("from_zero", '"tanh": [0, 0, 0]', '"tanh": [0, 0, 1]', "zero_moves")
("kernel_gradient", "q : q + columns", "p : p + columns", "kernel_values")
