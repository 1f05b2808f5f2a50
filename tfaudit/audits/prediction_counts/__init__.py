"""How often each class is predicted for each image."""
