"""Derived and rebuildable: the folded state, Markdown, search."""
