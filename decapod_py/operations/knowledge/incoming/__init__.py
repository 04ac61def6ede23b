"""What an import reads: one module for each form that knowledge comes in."""
