"""The 15 + 4 common corruptions of Hendrycks & Dietterich (2019), vectorised for whole batches."""
