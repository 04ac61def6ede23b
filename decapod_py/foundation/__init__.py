"""Errors, ids, times, canonical JSON, files: what every layer may use and nothing may surprise."""
