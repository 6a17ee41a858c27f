"""Forward Learning with Differential Privacy (DP-ULR), section 3.2, "Generalization of DP-ULR", and Appendix A.4.

dpulr2024:virtual-linear. Claim: add a virtual linear layer, so that the noise is added to the parameters. Then "the
Jacobian matrix would be the identity matrix I, ensuring the full rank" of the sum of the covariance matrices of the
gradient proxies.

We refute the claim in this case: every loss of the batch is 0. (If one loss is not 0, the sum has full rank.)

Counterexample: a batch of records with input x and label y. The parameters v of the virtual layer are the weights of
one linear unit. The output is A (v · x) + B and the loss is (A (v · x) + B - y)². For a noise z on v and σ > 0, the
proxy (4) is z times the loss, divided by σ². If A x and B - y are 0, the loss is 0 for every v and every z. Then each
proxy is 0 with probability 1, and its covariance is the zero matrix. The matrix of (8), the sum of the squared losses
times I, is also the zero matrix.

Arithmetic: whole numbers.
"""

# The counterexample.
X = [(1, 2), (3, -1)]
Y = [5, 5]
A, B = 0, 5


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


parameters = len(X[0])
need(len(X) == len(Y), "each record has one input and one label")
need(all(len(x) == parameters and 0 not in x for x in X), "every record must read every parameter")
for x, y in zip(X, Y, strict=True):
    # The loss is the square of a polynomial of degree 1 in v + z. These are its coefficients and its constant.
    coefficients, constant = [A * entry for entry in x], B - y
    if constant or any(coefficients):
        raise SystemExit("not refuted: the loss of a record is not 0 for every noise")
rank = 0  # the rank of a sum of zero matrices
print(f"refuted: claimed the full rank {parameters}, but the rank is {rank}, too small by at least {parameters - rank}")
