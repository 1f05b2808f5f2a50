"""Limits on the losses that compression may cause, and checks of models against them."""
