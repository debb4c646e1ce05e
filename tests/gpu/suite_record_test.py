"""Tests the records of gpu_suite.py for stages that run one by one. Needs no GPU.

Usage: suite_record_test.py
"""

import argparse
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import gpu_suite


def record(path, stages, sources="a", failing=(), commit="c"):
    """Records a run of these stages alone, each with two tests, and returns the evidence."""
    suite = gpu_suite.Suite(argparse.Namespace(
        build=".", evidence=str(path), commit=commit, gpu_sources_sha256=sources, bindings=".", jobs=1, loop_seconds=0,
        digits=None))

    def run(name):
        def stage():
            suite.evidence[name] = {"of": sources, "programs": {"two": {"passed": 1, "failed": int(name in failing)}}}
            suite.count(True, "one")
            suite.count(name not in failing, f"two of {name}")
        return stage

    for name in gpu_suite.STAGES:
        setattr(suite, name, run(name))
    suite.run_test = lambda test: (0, "[  PASSED  ] 1 test.") if "tests" not in failing else (1, "")
    suite.device = lambda: suite.evidence.update(device="GPU", driver="1")
    with contextlib.redirect_stdout(io.StringIO()):
        suite.everything(stages, path)
    return json.loads(path.read_text(encoding="utf-8"))


class Record(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "evidence.json"

    def test_stages_add_up_until_all_are_there(self):
        others = [name for name in gpu_suite.STAGES if name not in ("device", "tests")]
        first = record(self.path, ["tests"])
        self.assertEqual((first["passed"], first["failed"], first["green"]), (2, 0, False))
        all_of_them = record(self.path, others)
        self.assertEqual((all_of_them["passed"], all_of_them["failed"]), (2 + 2 * len(others), 0))
        self.assertTrue(all_of_them["green"])
        self.assertEqual(all_of_them["tests"]["of"], "a")

    def test_a_failure_is_not_green_until_its_stage_has_passed(self):
        record(self.path, [name for name in gpu_suite.STAGES if name != "bits"])
        failed = record(self.path, ["bits"], failing=["bits"])
        self.assertEqual((failed["failed"], failed["green"]), (1, False))
        self.assertEqual(failed["stages"]["bits"]["failures"], ["two of bits"])
        self.assertTrue(record(self.path, ["bits"])["green"])

    def test_a_test_that_failed_runs_again_and_stays_a_failure(self):
        first = record(self.path, gpu_suite.STAGES, failing=["tests"])
        record(self.path, ["failed"], failing=["tests"])
        again = record(self.path, ["failed"], commit="d")
        self.assertEqual([(test["test"], test["passed"], test["commit"]) for test in again["tests"].pop("again")],
                         [("two of tests", False, "c"), ("two of tests", True, "d")])
        self.assertEqual(again, first)
        self.assertFalse(again["green"])

    def test_nothing_is_run_again_for_other_sources(self):
        record(self.path, gpu_suite.STAGES, failing=["tests"])
        self.assertFalse(record(self.path, ["failed"], sources="b")["green"])

    def test_stages_of_another_commit_are_dropped(self):
        record(self.path, gpu_suite.STAGES)
        changed = record(self.path, ["bits"], commit="d")
        self.assertEqual((set(changed["stages"]), changed["green"]), ({"device", "bits"}, False))

    def test_stages_of_other_sources_are_dropped(self):
        record(self.path, gpu_suite.STAGES)
        changed = record(self.path, ["bits"], sources="b")
        self.assertEqual(set(changed["stages"]), {"device", "bits"})
        self.assertNotIn("golden", changed)
        self.assertFalse(changed["green"])


if __name__ == "__main__":
    unittest.main()
