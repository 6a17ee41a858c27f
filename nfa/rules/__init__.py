"""Update rules, one file each. This page is their contract; `nfa.rules.spec` reads a rule by it.

A rule is a plain function in a module of the same name. It has no base class and is in no registry::

    rule(net, x, y, *, ..., rng) -> (dW, db)

**What it takes.** By position, whatever they are called:

- ``net``: `nfa.network.Net`; its weights stay as they are
- ``x``: ``(k, *in_shape)`` array, k examples; k may be 0
- ``y``: (k, n_L) array, their targets, one-hot for class labels

By keyword ``rng``, a `numpy.random.Generator`, the only source of randomness. A rule that is a sum over examples may
get one part of a batch with `nfa.noise.OfExamples`. What it draws for an example must then depend on the example's
place in the batch. ``add_normal_each``, ``project`` and ``weigh`` draw so.

Besides, a run gives what a rule asks for by one of these names:

- ``B``: list, B[l] the random feedback into layer l, by ``--feedback-law`` and ``--feedback-scale``, or by an OPU
- ``V``: list, V[l] of the shape of W[l] for l = 2..L, random feedback in the place of transposed weights, as
  `nfa.feedback.draw_layerwise` draws it
- ``at``: "h" or "z", where B[l] e enters a layer with pooling
- ``project``, ``clip_l2``, ``clip_offset``, ``add_normal``, ``add_normal_each``, ``weigh``: functions with a default in
  plain NumPy; a run may give a kernel that computes the same. ``add_normal`` adds the noise on the sum over examples,
  and nothing else. A secure run gives its exact noise by ``add_normal``, and refuses a rule that does not take it.
  ``add_normal_each`` adds noise of single examples to an array with a row for each example
- ``state``: dict that the rule reads and writes; empty before the first step, saved with a checkpoint. Its "clipped",
  a share or a list of shares of the batch, is what ``nfa train`` shows as clipped
- ``m``: the public normaliser; a run gives the batch size, or its expectation, where nobody sets another. For batches
  of all records it gives the public number of records
- ``N_B``: the least size of a batch, where batches are drawn again until they have it

Every other keyword is a setting of the rule's own, ``--set NAME=VALUE``. Its annotation is its type. Its meaning stands
in the docstring under "Parameters".

**What it returns.** ``dW, db``, lists with the shapes of ``W`` and ``b``; slot 0 is None. They are the direction to
subtract, so the papers' delta W is -dW. The dtype is that of the weights. A private rule that is given no examples
returns its noise alone.

**What its module may declare.**

- ``mechanism``: function ``(*, ..., adjacency, sampling, sampling_rate)`` with settings of the rule; it returns the
  `nfa.mechanism.Mechanism` or `nfa.mechanism.Classic` that one step releases, or raises `nfa.mechanism.NoGuarantee`.
  Under "add-remove" its sensitivity is a bound on the norm of one record's term. A secure run of a rule of nfa counts
  rounding from that bound, so the clips must be those that `nfa.sensitivity.rounding` speaks of.
  One that always raises is annotated ``-> NoReturn``. One that protects labels alone annotates its adjacency as
  ``Literal["replace-label"]``, so that ``nfa rules`` can print that
- ``NOISE``: the setting that the noise of the mechanism is proportional to if the others are held, such as a standard
  deviation or a noise multiplier; "sigma" where it is not declared
- ``SUM_OVER_EXAMPLES``: True if the direction is a sum over examples, clips of each example included. Then, with m
  given and noise aside, the direction of a batch is the sum of the directions of its parts, and `nfa.parts` calls the
  rule on parts. Its noise is then the same for any batch, one without examples among them. A rule that reads the whole
  batch, for example to set its noise by it, is no sum. Nor is one that reads in its state what an earlier batch has
  written there, its own noise aside
"""
