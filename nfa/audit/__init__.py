"""Audits measure what a release reveals and compare it with what is claimed."""
