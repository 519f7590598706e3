"""render-chart.py CHART < values.json: renders the chart once for each of an array of values.

Prints an array of {manifests, problems} or {error}. Each manifest is checked against the schema of
its kind in the newest Kubernetes that the package knows, in strict mode: a field that does not exist
is an error. Kinds of operators (KEDA, Prometheus) have no schema here.
"""

import json
import sys

import helm_python
import kubernetes_validate
import yaml

OPERATORS = ("keda.sh/", "monitoring.coreos.com/")
VERSION = kubernetes_validate.latest_version()


def problem_of(manifest):
    if manifest["apiVersion"].startswith(OPERATORS):
        return None
    try:
        kubernetes_validate.validate(manifest, VERSION, strict=True)
        return None
    except kubernetes_validate.ValidationError as error:
        name = manifest["metadata"]["name"]
        return f"{manifest['kind']} {name}: {error.message} at {list(error.path)}"


def render(chart, path, values):
    try:
        rendered = chart.render(values, name="test", namespace="ravand")
    except helm_python.HelmError as error:
        return {"error": str(error)}
    report = helm_python.lint(path, values, strict=True)
    findings = [f"{one['path']}: {one['error']}" for one in report["messages"] if one["severity"] >= 2]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    manifests = [
        one for text in rendered.values() for one in yaml.load_all(text, Loader=loader) if one
    ]
    problems = [found for found in map(problem_of, manifests) if found]
    return {"manifests": manifests, "problems": findings + problems}


with helm_python.Chart.load(sys.argv[1]) as chart:
    results = [render(chart, sys.argv[1], values) for values in json.load(sys.stdin)]
json.dump(results, sys.stdout)
