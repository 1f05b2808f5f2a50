"""A study's directory: members, predictions, evaluations and examples."""

from tfaudit.runtime.lazy_names import lazy_names

lazy_names(__name__, {"open_store": "store", "Store": "store", "import_predictions": "external"})
