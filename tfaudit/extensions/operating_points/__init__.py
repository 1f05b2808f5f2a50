"""Which variant to choose: trade-offs between costs and harm."""
