"""Pure rules and values: no clock, disk, process or environment."""
