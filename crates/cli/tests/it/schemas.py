"""Tells, for each file that is named on standard input as `schema<TAB>path`, whether the schema takes it."""

import sys
import tomllib

import jsonschema
import json

validators = {}
for line in sys.stdin:
    schema, path = line.rstrip("\n").split("\t")
    if schema not in validators:
        with open(schema, encoding="utf-8") as file:
            validators[schema] = jsonschema.Draft202012Validator(json.load(file))
    try:
        with open(path, "rb") as file:
            value = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        print("no", error, sep="\t")
        continue
    found = jsonschema.exceptions.best_match(validators[schema].iter_errors(value))
    if found is None:
        print("yes", "", sep="\t")
    else:
        message = " ".join(f"{found.json_path}: {found.message}".split())
        print("no", message, sep="\t")
