"""Update rules, one in each file. This page is their contract, which `nfa.rules.spec` applies to each rule.

A rule is a plain function in a module of the same name. It has no base class and is in no registry::

    rule(net, x, y, *, ..., rng) -> (dW, db)

**What it takes.** Three arguments by position, with any names:

- ``net``: `nfa.network.Net`; the rule does not change its weights
- ``x``: ``(k, *in_shape)`` array, k examples; k may be 0
- ``y``: (k, n_L) array, their targets, one-hot for class labels

It takes ``rng`` by keyword. This `numpy.random.Generator` is the only source of randomness. A rule that is a sum over
examples may get one part of a batch, with `nfa.noise.OfExamples`. Its draws for an example must then depend on the
example's place in the batch. ``add_normal_each``, ``project`` and ``weigh`` draw in this way.

In addition, a run provides the following arguments if a rule has a keyword with this name:

- ``B``: list, B[l] the random feedback into layer l, from ``--feedback-law`` and ``--feedback-scale``, or from an OPU
- ``V``: list, V[l] of the shape of W[l] for l = 2..L, random feedback in place of transposed weights, as
  `nfa.feedback.draw_layerwise` draws it
- ``at``: "h" or "z", the place at which B[l] e enters a layer with pooling
- ``project``, ``clip_l2``, ``clip_offset``, ``add_normal``, ``add_normal_each``, ``weigh``: functions with a default in
  plain NumPy. A run may provide a kernel that computes the same. ``add_normal`` adds only the noise on the sum over
  examples. A secure run provides its exact noise through ``add_normal``, and refuses a rule without this argument.
  ``add_normal_each`` adds noise of single examples to an array with a row for each example
- ``state``: dict that the rule reads and writes. It is empty before the first step and saved with a checkpoint. Its
  entry "clipped" is a share of the batch, or a list of shares. ``nfa train`` prints this entry as the clipped share
- ``m``: the public normaliser. If nobody sets it, a run provides the batch size, or its expected value. For batches of
  all records, it provides the public number of records
- ``N_B``: the least size of a batch, if the run draws smaller batches again

Every other keyword is a setting of the rule itself, ``--set NAME=VALUE``. Its annotation is its type. Its meaning is in
the docstring under "Parameters".

**What it returns.** ``dW, db``, lists with the shapes of ``W`` and ``b``; slot 0 is None. They are the direction to
subtract, so the papers' delta W is -dW. The dtype is that of the weights. A private rule that receives no examples
returns only its noise.

**What its module may declare.**

- ``mechanism``: function ``(*, ..., adjacency, sampling, sampling_rate)`` with settings of the rule. It returns the
  `nfa.mechanism.Mechanism` or `nfa.mechanism.Classic` that one step releases, or raises `nfa.mechanism.NoGuarantee`.
  Under "add-remove" its sensitivity is a bound on the norm of one record's term. A secure run of a rule of nfa counts
  rounding from that bound, so the clips must be those that `nfa.sensitivity.rounding` covers.
  A function that always raises is annotated ``-> NoReturn``. A function that protects only labels annotates its
  adjacency as ``Literal["replace-label"]``, so that ``nfa rules`` can print this
- ``NOISE``: the setting to which the noise of the mechanism is proportional if the other settings are fixed, "sigma" if
  it is not declared. It is for example a standard deviation or a noise multiplier
- ``SUM_OVER_EXAMPLES``: True if the direction is a sum over examples, including the clips of each example. Then, for a
  given m and without noise, the direction of a batch is the sum of the directions of its parts. `nfa.parts` calls the
  rule on parts. The noise is then the same for every batch, also for a batch without examples. A rule that reads the
  whole batch, for example to set its noise, is no such sum. A rule that reads from its state what an earlier batch has
  written there is no such sum either, unless it reads only its own noise
"""
