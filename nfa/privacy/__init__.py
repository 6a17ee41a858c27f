"""Counting privacy: divergences, Renyi curves, amplification by subsampling, and the accountant over them."""
