"""The catalogue of everything Decapod can do: one function an operation, served by every surface."""
