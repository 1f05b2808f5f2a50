"""`python -m tfaudit.app SETTINGS`: the server of the viewer; SETTINGS is JSON, and the password in the environment."""

import json
import os
import sys

from tfaudit.app.server import PASSWORD, serve

if __name__ == "__main__":
    serve(json.loads(sys.argv[1]), os.environ.pop(PASSWORD, ""))
