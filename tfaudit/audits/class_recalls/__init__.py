"""Recall of every class over sparsity."""
