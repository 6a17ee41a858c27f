"""Audits: what a release gives away, measured and held against what is claimed of it."""
