"""Checks that CMakePresets.json is what docs/pages/building.md says: the table names every preset, each is a workflow unless
its row says otherwise, and `docs` builds the site and nothing else.

Usage: check_presets.py SOURCE_DIRECTORY
"""

import json
import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1])
    presets = json.loads((root / "CMakePresets.json").read_text(encoding="utf-8"))
    page = (root / "docs" / "pages" / "building.md").read_text(encoding="utf-8")
    table = re.search(r"^## With the presets$(.*?)^## ", page, flags=re.M | re.S).group(1)
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", table, flags=re.M))
    shown = {preset["name"]: preset for preset in presets["configurePresets"] if not preset.get("hidden")}
    workflows = {preset["name"]: preset for preset in presets["workflowPresets"]}
    problems = [f"building.md does not have the preset {name}" for name in shown.keys() - rows.keys()]
    problems += [f"there is no preset {name}, which building.md has" for name in rows.keys() - shown.keys()]
    for name, row in rows.items():
        if (name in workflows) == ("No workflow" in row):
            problems.append(f"{name}: building.md and the workflows do not agree")
    steps = [(step["type"], step["name"]) for step in workflows.get("docs", {}).get("steps", [])]
    if steps != [("configure", "docs"), ("build", "docs")]:
        problems.append(f"the workflow docs does more than build the site, or less: {steps}")
    built = [preset for preset in presets["buildPresets"] if preset["name"] == "docs"]
    if [preset.get("targets") for preset in built] != [["docs"]]:
        problems.append("the build preset docs builds not just the target docs")
    print("\n".join(problems))
    print(f"{len(shown)} presets, {len(workflows)} workflows, {len(problems)} problems")
    return 1 if problems or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
