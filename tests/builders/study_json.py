"""Studies as `study.json` keeps them."""

import json

from tfaudit import Study


def after_json(study):
    """Return the study that is read from the JSON text of a study."""
    return Study.from_json(json.loads(json.dumps(study.to_json())))
