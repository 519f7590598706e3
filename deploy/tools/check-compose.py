"""check-compose.py FILE SCHEMA: prints the compose file as JSON, or fails with what the schema says."""

import json
import sys

import jsonschema
import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    content = yaml.safe_load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    schema = json.load(file)
validator = jsonschema.Draft7Validator(schema)
problems = [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(content)]
json.dump({"content": content, "problems": problems}, sys.stdout)
