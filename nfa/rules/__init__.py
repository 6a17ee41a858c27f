"""Update rules, one in each file. This page is the contract of a rule. `nfa.rules.spec` checks each rule.

A rule is a plain function in a module of the same name. It has no base class and is in no registry::

    rule(net, x, y, *, ..., rng) -> (dW, db)

**The arguments.** A rule takes three arguments by position, with any names:

- ``net``: `nfa.network.Net`; the rule does not change its weights
- ``x``: ``(k, *in_shape)`` array, k examples; k may be 0
- ``y``: (k, n_L) array, their targets, one-hot for class labels

A rule takes ``rng`` by keyword. This `numpy.random.Generator` is the only source of randomness. If the direction is a
sum over examples, nfa may call the rule on one part of a batch, with an rng of type `nfa.noise.OfExamples`. Then the
random values for an example must depend on the example's place in the batch. The functions ``add_normal_each``,
``project`` and ``weigh`` satisfy this condition.

In addition, a run provides the following arguments if a rule has a keyword with this name:

- ``B``: list. B[l] is the random feedback into layer l, from ``--feedback-law`` and ``--feedback-scale``, or an OPU
- ``V``: list. V[l] has the shape of W[l] for l = 2..L. It is the random feedback in place of the transposed weights,
  from `nfa.feedback.draw_layerwise`
- ``at``: "h" or "z", the place at which B[l] e enters a layer with pooling
- ``project``, ``clip_l2``, ``clip_offset``, ``add_normal``, ``add_normal_each``, ``weigh``: functions with a default in
  plain NumPy. A run may provide an equivalent kernel. ``add_normal`` adds only the noise on the sum over examples. A
  secure run provides its exact noise through ``add_normal``, and refuses a rule without this argument.
  ``add_normal_each`` adds noise of single examples to an array with a row for each example
- ``state``: dict that the rule reads and writes. The dict is empty before the first step and saved with a checkpoint.
  Its entry "clipped" is a share of the batch, or a list of shares. ``nfa train`` prints this entry as the clipped share
- ``m``: the public normaliser. If you do not set it, a run provides the batch size, or its expected value. For batches
  of all records, a run provides the public number of records
- ``N_B``: the smallest size of a batch, if the run rejects smaller batches and draws again

Every other keyword is a setting of the rule itself, which you set with ``--set NAME=VALUE``. The annotation of the
keyword is the type of the setting. Its meaning is in the docstring under "Parameters".

**The result.** A rule returns ``dW, db``, lists of arrays with the shapes of ``W`` and ``b``. Slot 0 is None. The two
lists are the direction to subtract, so the papers' delta W is -dW. The dtype is that of the weights. If a private rule
receives no examples, it returns only its noise.

**Declarations.** The module of a rule may declare:

- ``mechanism``: function ``(*, ..., adjacency, sampling, sampling_rate)`` with settings of the rule. It returns the
  `nfa.mechanism.Mechanism` or `nfa.mechanism.Classic` that one step releases, or raises `nfa.mechanism.NoGuarantee`.
  Under "add-remove" the sensitivity is a bound on the norm of one record's term. A secure run of a rule of nfa computes
  the effect of rounding from this bound, so the clips must be those that `nfa.sensitivity.rounding` covers. A function
  that always raises is annotated ``-> NoReturn``. A function that protects only labels annotates its adjacency as
  ``Literal["replace-label"]``, so that ``nfa rules`` can print this fact
- ``NOISE``: the setting to which the noise of the mechanism is proportional if the other settings are fixed. This
  setting is for example a standard deviation or a noise multiplier. The default is "sigma"
- ``SUM_OVER_EXAMPLES``: True if the direction is a sum over examples, including the clips of each example. Then, for a
  given m and without noise, the direction of a batch is the sum of the directions of its parts, and `nfa.parts` calls
  the rule on parts. The size of the noise must not depend on the batch, which may be empty. Do not declare True if the
  rule uses the whole batch, for example to set its noise. Do not declare True either if the rule reads values of an
  earlier batch from its state, unless these values are only the rule's own noise
"""
