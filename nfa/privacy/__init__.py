"""Computing privacy: divergences, Renyi curves, amplification by subsampling, and the accountants that use them."""
