"""Command line and agent tools: they translate, decide nothing and never import each other."""
