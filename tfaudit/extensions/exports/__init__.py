"""Results for other tools: tables of exemplars, FiftyOne, MLflow, PDF, and the command `tfaudit export`."""
