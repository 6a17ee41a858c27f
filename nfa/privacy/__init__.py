"""The computation of epsilon: divergences, Renyi curves, amplification by subsampling, and the accountants."""
