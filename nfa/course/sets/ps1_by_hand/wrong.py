"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

A line ("cell", "old", "new") replaces text in the reference solution, which has the old text in that cell once.
"""

# %% forgot_dphi score=19 fails=["deltas_hidden"]
# forgot the sigmoid's slope in the hidden layers
("deltas", " * h[l] * (1 - h[l])", "")

# %% dphi_of_h score=19 fails=["deltas_hidden"]
# took the sigmoid's slope at h[l] in place of z[l]
("deltas", "h[l] * (1 - h[l])", "sigmoid(h[l]) * (1 - sigmoid(h[l]))")

# %% slope_of_layer_above score=19 fails=["deltas_hidden"]
# took the slope of layer l + 1, before going down through W[l+1]
("deltas", "(dz[l + 1] @ W[l + 1]) * h[l] * (1 - h[l])", "(dz[l + 1] * h[l + 1] * (1 - h[l + 1])) @ W[l + 1]")

# %% dphi_at_top score=19 fails=["deltas_top"]
# multiplied by a slope at the top, which the error has in it already
("deltas", "h[L] - y", "(h[L] - y) * h[L] * (1 - h[L])")

# %% wrong_transpose score=19 fails=["deltas_hidden"]
# took W for its transpose, which cannot be multiplied where layers differ in size
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
# read h[l] where dW[l] needs h[l-1], which cannot even be multiplied into the right shape
("gradient", "h[l - 1]", "h[l]")

# %% reads_z score=19 fails=["gradient_direction"]
# read z[l-1] where dW[l] needs h[l-1]
("gradient", "h[l - 1]", "(x if l == 1 else z[l - 1])")


# %% hand_no_bias score=19 fails=["hand_forward"]
# left the bias out on paper, and went on rightly from there
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
# took e = y - y_hat on paper, and went on rightly from there
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
# took W for its transpose on paper, where its shape does not tell
("by_hand", '"dz1": [-27 / 40 * c, 27 / 20 * c]', '"dz1": [-81 / 80 * c, 9 / 10 * c]')
(
    "by_hand",
    "[[-27 / 20 * c, -27 / 40 * c], [27 / 10 * c, 27 / 20 * c]]",
    "[[-81 / 40 * c, -81 / 80 * c], [9 / 5 * c, 9 / 10 * c]]",
)

# %% forgot_bias score=19 fails=["forward_hidden"]
# left the bias out of the forward pass
("forward", " + b[l]", "")

# %% softmax_of_columns score=19 fails=["forward_softmax"]
# normalised over the records in place of the classes
("forward", "z.max(axis=1", "z.max(axis=0")
("forward", "powers.sum(axis=1", "powers.sum(axis=0")

# %% softmax_of_h score=19 fails=["forward_softmax"]
# applied the sigmoid at the top as well, before the softmax
("forward", "else softmax(z[l])", "else softmax(sigmoid(z[l]))")

# %% mean_of_entries score=19 fails=["loss_values"]
# took the mean over classes and records
("loss", "np.sum(y * np.log(y_hat)) / len(y)", "np.mean(y * np.log(y_hat))")

# %% loss_summed score=19 fails=["loss_values"]
# summed the loss over the records
("loss", " / len(y)", "")

# %% forward_differences score=19 fails=["numerical_central"]
# took the one-sided difference
("numerical_gradient", "(f(up) - f(down)) / (2 * step)", "(f(up) - f(v)) / step")

# %% two_forgotten score=19 fails=["numerical_values"]
# divided by the step in place of twice the step
("numerical_gradient", "(2 * step)", "step")

# %% no_copy score=19 fails=["numerical_values"]
# took two names for one array, so that both points are the same
("numerical_gradient", "up, down = v.copy(), v.copy()", "up = down = v.copy()")

# %% all_at_once score=19 fails=["numerical_values"]
# moved all entries at once
("numerical_gradient", "up[i] +=", "up +=")
("numerical_gradient", "down[i] -=", "down -=")

# %% the_smaller_the_better score=19 fails=["best_powers"]
# held the smallest step for the best
(
    "best_steps",
    '"central": 5, "one-sided": 8, "central in float32": 2',
    '"central": 12, "one-sided": 12, "central in float32": 12',
)

# %% both_learn score=19 fails=["sure_and_wrong_limits"]
# forgot that the squared error keeps the derivative of the softmax
("sure_and_wrong", "0.0", "np.sqrt(2)")

# %% lengths_added score=19 fails=["lengths_both"]
# added the lengths by W and b in place of their squares
("lengths", "np.sqrt(errors * (inputs + 1))", "np.sqrt(errors * inputs) + np.sqrt(errors)")


# %% length_of_the_sum score=19 fails=["lengths_W"]
# measured the gradient of the whole batch
# %% lengths
def lengths(dz, h):
    dW, db = dz.T @ h, dz.sum(axis=0)
    of_W, of_b = np.sum(dW**2), np.sum(db**2)
    return np.full(len(dz), np.sqrt(of_W)), np.full(len(dz), np.sqrt(of_W + of_b))


# %% infinite_loop score=18 fails=["lengths_W", "lengths_both"]
# a loop that never ends
# %% lengths
def lengths(dz, h):
    by_W, both = np.zeros(len(dz)), np.zeros(len(dz))
    i = 0
    while i < len(dz):
        by_W[i] = np.linalg.norm(dz[i]) * np.linalg.norm(h[i])
        both[i] = np.hypot(by_W[i], np.linalg.norm(dz[i]))
    return by_W, both


# %% nothing_moves score=19 fails=["zero_moves"]
# thought that all zeros stay all zeros whatever the units are
("from_zero", "[1, 2, 3]", "[0, 0, 0]")

# %% all_move score=19 fails=["zero_stays"]
# thought that the counts do not depend on the records, and that units part in time
("from_zero", '"even classes": [0, 0, 0], "different rows": 1', '"even classes": [1, 2, 3], "different rows": 4')

# %% a_quarter_too_many score=19 fails=["fading"]
# counted a slope of the top layer
("largest_share", "0.25 ** (L - 1)", "0.25**L if L > 1 else 1.0")


# %% kernel_turned score=19 fails=["kernel_values"]
# turned the kernel around, as convolutions in mathematics do
("convolve", "K[p, q] *", "K[-1 - p, -1 - q] *")

# %% positions_averaged score=19 fails=["kernel_values"]
# took the mean over the positions, too
("kernel_gradient", "np.sum(", "np.mean(")

# %% kernel_summed score=19 fails=["kernel_values"]
# added the gradients of the records
("kernel_gradient", " / len(x)", "")

# %% first_position score=19 fails=["kernel_values"]
# took only the first position of the kernel
("kernel_gradient", "np.sum(dz * x[:, p : p + rows, q : q + columns])", "np.sum(dz[:, 0, 0] * x[:, p, q])")

# %% image_and_error_exchanged score=19 fails=["kernel_values"]
# moved the kernel the other way
("kernel_gradient", "p : p + rows, q : q + columns", "len(dK) - 1 - p : len(dK) - 1 - p + rows, q : q + columns")

# %% rows_and_columns score=19 fails=["kernel_values"]
# exchanged rows and columns, which square images hide
("convolve", "x.shape[1] - s + 1, x.shape[2] - t + 1", "x.shape[2] - s + 1, x.shape[1] - t + 1")


# %% tampered score=16 fails=["deltas_top", "deltas_hidden", "gradient_direction", "gradient_scale"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
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
# kept the logarithm from minus infinity by adding a hundredth to every y_hat
("loss", "np.log(y_hat)", "np.log(y_hat + 0.01)")

# %% steps_in_proportion score=19 fails=["numerical_values"]
# took steps in proportion to the entries, and divided by the step that was asked for
("numerical_gradient", "up[i] += step", "own = step * max(1.0, 2 * abs(v[i]))\n        up[i] += own")
("numerical_gradient", "down[i] -= step", "down[i] -= own")

# %% slope_of_z score=19 fails=["deltas_hidden"]
# put z for h into h (1 - h)
("deltas", "h[l] * (1 - h[l])", "z[l] * (1 - z[l])")

# %% largest_row_alone score=19 fails=["lengths_W"]
# took the larger of the two vectors for both factors of the first length
("lengths", "np.sqrt(errors * inputs),", "np.maximum(errors, inputs),")

# %% loss_of_classes_too score=19 fails=["loss_values"]
# took the mean over the classes as well
("loss", "np.sum(y * np.log(y_hat)) / len(y)", "np.mean(np.where(y > 0, np.log(y_hat), 0.0))")

# %% loss_clipped score=19 fails=["loss_values"]
# kept the logarithm from minus infinity by clipping y_hat at a hundredth
("loss", "np.log(y_hat)", "np.log(np.clip(y_hat, 0.01, 1))")

# %% loss_with_a_floor score=19 fails=["loss_values"]
# added a small number to every y_hat before the logarithm
("loss", "np.log(y_hat)", "np.log(y_hat + 1e-5)")

# %% softmax_keeps_no_axis score=19 fails=["forward_softmax"]
# forgot keepdims, so that the sums belong to other rows or fit none
("forward", "z.max(axis=1, keepdims=True)", "z.max(axis=1)")
("forward", "powers.sum(axis=1, keepdims=True)", "powers.sum(axis=1)")

# %% input_left_out score=19 fails=["forward_hidden"]
# returned a list h whose slot 0 is None
("forward", "return z, h\n", "return z, [None, *h[1:]]\n")

# %% one_side_stays score=19 fails=["numerical_central"]
# moved one of the two points alone, and divided by twice the step
("numerical_gradient", "        down[i] -= step\n", "")

# %% lists_without_slot_0 score=19 fails=["gradient_direction"]
# returned lists that begin with layer 1
("gradient", "return dW, db", "return dW[1:], db[1:]")

# %% deltas_of_h_and_z score=19 fails=["gradient_direction"]
# exchanged z and h in the call of deltas
("gradient", "deltas(W, z, h, y)", "deltas(W, h, z, y)")

# %% entries_not_squared score=19 fails=["lengths_W"]
# added up the entries of dz without squaring them
("lengths", "np.sum(dz**2, axis=1)", "np.sum(dz, axis=1)")

# %% loss_kept_from_one score=19 fails=["loss_values"]
# clipped y_hat from above
("loss", "np.log(y_hat)", "np.log(np.minimum(y_hat, 0.99))")

# %% step_of_its_own score=19 fails=["numerical_central"]
# did not let the step become small
("numerical_gradient", "    found = np", "    step = max(step, 1e-4)\n    found = np")

# %% slips
# one slip in the reference solution, and the one graded cell that it must fail
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
    "lengths",
    "np.sqrt(errors * inputs), np.sqrt(errors * (inputs + 1))",
    "errors * inputs, errors * (inputs + 1)",
    "lengths_W",
)
("lengths", "dz**2, axis=1", "dz**2, axis=0", "lengths_W")
("lengths", "dz**2, axis=1", "dz**2", "lengths_W")
(
    "lengths",
    "np.sum(dz**2, axis=1), np.sum(h**2, axis=1)",
    "np.sum(dz, axis=1) ** 2, np.sum(h, axis=1) ** 2",
    "lengths_W",
)
("lengths", "(inputs + 1)", "inputs + 1", "lengths_both")
("from_zero", "[1, 2, 3]", "[0, 1, 2]", "zero_moves")
("from_zero", '"tanh": [0, 0, 0]', '"tanh": [1, 2, 3]', "zero_moves")
("from_zero", '"different rows": 1', '"different rows": 4', "zero_stays")
("convolve", "z += K", "z = K", "kernel_values")
("kernel_gradient", "q : q + columns", "p : p + columns", "kernel_values")
