"""How many images and members a study needs."""
