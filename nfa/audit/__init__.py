"""Audits measure how much a release reveals, and compare the result with the claimed epsilon."""
