"""Experiments: training runs with records, and the papers' tables and figures, each rerun by one call."""
