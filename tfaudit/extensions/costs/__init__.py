"""What models cost: their size, their operations and their latency on this machine."""
