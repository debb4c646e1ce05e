"""Runs the tests on a GPU and records the results. tests/gpu/run.sh finds the build and calls this.

Stages, in this order:
  device      which GPU, driver and toolkit
  tests       every GoogleTest test of the build with the CUDA backend, one process per test, so that a lost device
              fails only one test
  golden      synfire-golden on tests/golden, all types, on the GPU and on the host
  bits        the checked-in hashes of every model, on the GPU and on the host
  sanitizers  compute-sanitizer's four tools over some of the tests and a short run of hear
  bindings    the tests of Rust and C# that tests/gpu/pack_bindings.sh packed, if present; the programs need neither
              cargo nor an installed Mono
  resume      one training that passes through C, Rust and C#, from the host to the GPU and back: the bytes of one that was
              not stopped
  digits      the examples digits and gestures learn the same files, to the byte, on the GPU and on the host: shortened runs
              from the few spikes of the tests, with --digits also the whole one; all of the gestures
  context     the time and memory of a context (synfire-bench context)
  hear        its tables on the GPU and on the host: plain, --learn, --population 512; nothing else runs at the time
  loop        with --loop-seconds: hear in real time for that long, on the GPU and on the host, and once more with --words.
              The pictures and the times of all frames are stored next to the evidence. At most one frame in 10,000 may
              miss its deadline, not counting frames for which the system woke the program late

The last line is "N passed, N failed". The exit status is 0 only if something ran and nothing failed. The evidence is
written in either case, after each stage. With --only, it keeps the other stages if they are of the same sources and
device, of one commit. "--only failed" runs only the tests again that failed in the recorded stage "tests", of any commit,
and adds what they do to the evidence, whose numbers stay. They are those of all stages that are recorded; "green" says
that these are all of the above but loop, and that none failed.
"""

import argparse
import concurrent.futures
import datetime
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOUND = ROOT / "docs" / "examples" / "hear" / "speech.wav"
GOLDEN = ROOT / "tests" / "golden"
SANITIZER_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
NAMED_SOUND, NAMES = SOUND.with_name("digits.wav"), SOUND.with_name("digits.safetensors")
DIGITS_TESTS = ROOT / "docs" / "examples" / "digits" / "tests"
sys.path[:0] = [str(DIGITS_TESTS), str(ROOT / "bindings" / "programs")]
import check_resume  # noqa: E402
import compare_backends  # noqa: E402
# The results on the few spikes, on every machine and backend: docs/examples/digits/tests/CMakeLists.txt. The epochs, the
# floor, the weights, the options.
FEW_SPIKES = {
    "digits, few spikes": (30, 85.0, "f5183422f9986107", ()),
    "digits, recurrent": (13, 40.0, "b0d4d6fde09524d9", ("--sounds", "48", "--parts", "56", "--recurrent", "5")),
    "digits, delays": (13, 60.0, "aed06be9748fb228", ("--sounds", "64", "--parts", "40", "--delays", "10")),
}
# The weights of the whole default run of gestures, on every machine and backend.
ALL_GESTURES = "4f5fd5ba26211837"
# compute-sanitizer slows a test down a hundredfold, so it runs only tests that together launch every kind of kernel,
# copy and replay: random layers, several neurons per thread, ends of rows, arrays of odd shapes up to their ends, a
# stream of the caller's, destruction in flight, 16-bit storage, stored tapes, every spike format with conversions and
# counts, filled waves, rows of the state, updates, values per neuron, disabled operations, products of synapses, checks
# of data, branches, convolutions, pools, normalisation, borders, events.
SANITIZED = ":".join([
    "Seeds/BitEquality.RandomLayersF32/0",
    "Seeds/BitEquality.RandomLayersF64/0",
    "BitEqualityLarge.WideRowsOverBatch",
    "Types/OddShapes.EndsOfArrays/*",
    "BitEqualityLarge.PinnedFrames",
    "GoodNeighbour.CallersStreamIsUsedAndStaysUsable",
    "GoodNeighbour.DestroyingWhileReplaysAreInFlight",
    "ForwardBackward/*.AnyElementAlignmentAndNothingBeyondTheArrays",
    "ForwardBackward/*.PerNeuronParametersEqualSingleNeuronLayers",
    "Graphs/*.TwoLayersCopiesAndBothDirections",
    "Windows/*.ChainedBackwardsEqualOneLongBackward",
    "Types/Storage.PerNeuronParametersAndReplays/*",
    "Pitch.TapesOfSpacedOutX",
    "SpikeFormats.BehindALayerInOneGraph",
    "SpikeFormats.Counts",
    "Types/Storage.InstancesForSpikesAloneAreToo/F16",
    "FilledWaves/Large.WindowsEqualASmallLayer/2",
    "StateRows/0.ResetByAMask",
    "StateRows/0.SnapshotsInReplays",
    "ParameterUpdate/0.OneNumberPerNeuron",
    "ChangesTogether.ValuesPerNeuronOfManyLaunches",
    "ChangesOfTapes.ABackwardIsOneOperationWithItsSums",
    "SynapseOnBothBackends.ManyRowsInEveryFormat",
    "SynapseOnBothBackends.OnceByWarpgroups",
    "NetworkData.LabelsOfStepsNameTheStep",
    "NetworkBranches.TrainToTheBitAsByHand",
    "CombineTest.ChannelsAreSideBySideInEveryFormat",
    "CountsInNetworks.HaveTheBitsOfAsManySpikes",
    "Conv2d.FewBitsMasksAndDropout",
    "Conv2d.OfALayerIsThatApart",
    "Conv2d.IsTrained",
    "Pool.ByHand",
    "Normalize.Exact",
    "Normalize.RunningStatistics",
    "Resize.ByHand",
    "SpatialStages.ConvolutionsTakeMasksDropoutAndFewBits",
    "BinEvents.ByHand",
])
# Tests that measure run alone, judge their times, and have them recorded.
MEASURING = ("LaunchOverhead.*", "ChangeCost/*", "NativeNodes.EnablingCostsMicroseconds",
             "NativeNodes.ZzAReplayThatFaultsIsReportedLost")
# Tests that take minutes begin first, so that others run beside them.
LONG = ("Gradients/*.MatchTheOracleWithEverySurrogate", "Loss.GradientsAreThoseOfCentralDifferences",
        "Loss.EveryChoiceOfOptions", "RandomGraphs.*")
TEST_TIMEOUT = 900
# How many random networks of maps are compared with the host, one of 15 after 100 steps of training.
SPATIAL_NETWORKS = "300"
SANITIZER_ERROR = 99
SLOW_PROGRAMS = ("synfire-nvrtc-tests", "synfire-jit-tests")
STAGES = ("device", "tests", "golden", "bits", "sanitizers", "bindings", "python", "resume", "digits", "context", "hear")
# Entries that are the same in runs of the same kernels on the same GPU.
SAME_CODE = ("gpu_sources_sha256", "device", "driver")
# The classes of C# tests that can run on a GPU: they access device memory only by copies.
CSHARP_TESTS = ("Changes", "Steps", "Lifetime")


class Suite:
    def __init__(self, arguments):
        self.bin = pathlib.Path(arguments.build).resolve() / "bin"
        self.lib = self.bin.parent / "lib"
        self.bindings_folder = pathlib.Path(arguments.bindings).resolve()
        self.jobs = arguments.jobs
        self.folder = pathlib.Path(arguments.evidence).resolve().parent
        self.loop_seconds = arguments.loop_seconds
        self.digits_folder = arguments.digits
        self.passed = 0
        self.failed = 0
        self.failures = []
        self.stages = {}  # name: what it counted
        self.evidence = {
            "commit": arguments.commit,
            "gpu_sources_sha256": arguments.gpu_sources_sha256,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def count(self, good, name, output=""):
        if good:
            self.passed += 1
            return
        self.failed += 1
        self.failures.append(name)
        print(f"    FAILED: {name}")
        for line in output.splitlines()[-60:]:
            print(f"    | {line}")

    def run(self, command, timeout=300, **environment):
        """The exit status (-1 after a time-out) and everything the command printed."""
        try:
            done = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                cwd=ROOT,
                env={**os.environ, **environment},
            )
        except subprocess.TimeoutExpired as late:
            return -1, (late.stdout or b"").decode(errors="replace") + f"\nstopped after {timeout} s"
        except OSError as error:
            return -1, str(error)
        return done.returncode, done.stdout.decode(errors="replace")

    # ---- device ------------------------------------------------------------------------------------------------------

    def device(self):
        status, output = self.run(
            ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"]
        )
        first = output.splitlines()[0] if status == 0 and output.strip() else ""
        fields = [field.strip() for field in first.split(",")] + [""] * 4
        self.evidence["device"], self.evidence["driver"] = fields[0], fields[1]
        self.evidence["device_memory"], self.evidence["compute_capability"] = fields[2], fields[3]
        self.count(bool(fields[0]), "nvidia-smi names a GPU", output)
        print(f"    {first}")

    # ---- tests -------------------------------------------------------------------------------------------------------

    def test_programs(self):
        for path in sorted(self.bin.iterdir()):
            if any(word in path.name for word in ("fake", "fault", "order")):
                continue  # these do not use a GPU
            if path.is_file() and os.access(path, os.X_OK) and b"gtest_list_tests" in path.read_bytes():
                yield path

    def list_tests(self, program, test_filter="*"):
        status, output = self.run([program, "--gtest_list_tests", f"--gtest_filter={test_filter}"])
        if status != 0:
            self.count(False, f"{program.name} lists its tests", output)
            return []
        names, suite = [], ""
        for line in output.splitlines():
            line = line.split("#")[0].rstrip()
            if line.startswith("  "):
                names.append(suite + line.strip())
            elif line.endswith("."):
                suite = line
        return [name for name in names if "DISABLED_" not in name]

    @staticmethod
    def measures(name):
        return any(fnmatch.fnmatch(name, pattern) for pattern in MEASURING)

    def run_test(self, test):
        times = "1" if self.measures(test[1]) else "0"
        return self.run([test[0], f"--gtest_filter={test[1]}"], timeout=TEST_TIMEOUT, SYNFIRE_TEST_BACKEND="cuda",
                        SYNFIRE_TEST_TIMES=times, SYNFIRE_TEST_SPATIAL=SPATIAL_NETWORKS)

    def note_times(self, record, name, output):
        if not self.measures(name):
            return
        lines = record.setdefault("measured", {})[name] = [line for line in output.splitlines() if "median" in line]
        for line in lines:
            print(f"    {line}")

    def tests_again(self, recorded):
        """Runs the tests again that failed in the recorded stage. It stays a stage with failures."""
        for failure in recorded["stages"]["tests"]["failures"]:
            program, _, name = failure.partition(" ")
            status, output = self.run_test((self.bin / program, name))
            good = has_passed(status, output)
            self.count(good, failure, output)
            again = {"test": failure, "passed": good, "commit": self.evidence["commit"], "date": self.evidence["date"]}
            self.note_times(again, name, output)
            recorded["tests"].setdefault("again", []).append(again)

    def tests(self):
        record = self.evidence["tests"] = {"backend": "cuda", "process_per_test": True, "programs": {}}
        programs = list(self.test_programs())
        self.count(bool(programs), "the build has test programs")
        # Programs that compile what they run come first, because each of their tests takes long.
        tests = [(program, name) for program in sorted(programs, key=lambda path: path.name not in SLOW_PROGRAMS)
                 for name in self.list_tests(program)]
        measuring = [test for test in tests if self.measures(test[1])]
        tests = [test for test in tests if test not in measuring]
        tests.sort(key=lambda test: not any(fnmatch.fnmatch(test[1], pattern) for pattern in LONG))

        seconds = []

        def run_and_time(test):
            begin = time.monotonic()
            result = self.run_test(test)
            seconds.append((time.monotonic() - begin, test[1]))
            return result

        def count(test, status, output):
            program, name = test
            counts = record["programs"].setdefault(program.name, {"passed": 0, "failed": 0, "skipped": []})
            self.note_times(record, name, output)
            if status == 0 and "[  SKIPPED ]" in output:
                counts["skipped"].append(name)
                return
            good = has_passed(status, output)
            counts["passed" if good else "failed"] += 1
            self.count(good, f"{program.name} {name}", output)

        # Failures are printed as they happen, so that a run that is stopped has told what it found.
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            running = {pool.submit(run_and_time, test): test for test in tests}
            for n_done, future in enumerate(concurrent.futures.as_completed(running), 1):
                count(running[future], *future.result())
                if n_done % 250 == 0:
                    print(f"    {n_done} of {len(tests)} tests")
        for test in measuring:
            count(test, *run_and_time(test))
        print("    the longest: " + ", ".join(f"{name} {taken:.0f} s" for taken, name in sorted(seconds, reverse=True)[:8]))
        for name, counts in sorted(record["programs"].items()):
            print(f"    {name}: {counts['passed']} passed, {counts['failed']} failed, {len(counts['skipped'])} skipped")

    # ---- golden ------------------------------------------------------------------------------------------------------

    def golden(self):
        record = self.evidence["golden"] = {}
        for backend in ("cuda", "host"):
            for dtype in ("f32", "f64", "f16", "bf16"):
                name = f"synfire-golden --backend {backend} --dtype {dtype}"
                status, output = self.run(
                    [self.bin / "synfire-golden", GOLDEN, "--backend", backend, "--dtype", dtype]
                )
                counts = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, flags=re.M)
                passed, failed, skipped = (int(n) for n in counts.groups()) if counts else (0, 0, 0)
                record[f"{backend} {dtype}"] = {"passed": passed, "failed": failed, "skipped": skipped,
                                                "largest_errors": largest_errors(output)}
                self.count(status == 0 and passed > 0 and failed == 0, name, output)
                print(f"    {name}: {passed} passed, {failed} failed, {skipped} skipped")

    # ---- bits --------------------------------------------------------------------------------------------------------

    def bits(self):
        """Compares the GPU's hashes with the record for the host backend."""
        record = self.evidence["bits"] = {}
        for backend in ("cuda", "host"):
            name = f"synfire-bits --backend {backend}"
            status, output = self.run([self.bin / "synfire-bits", "--backend", backend, "--compare",
                                       ROOT / "tests" / "host" / "bits.txt"])
            last = output.strip().splitlines()[-1:]
            record[backend] = last
            self.count(status == 0, name, output)
            print(f"    {name}: {' '.join(last)}")

    # ---- sanitizers --------------------------------------------------------------------------------------------------

    def sanitizers(self):
        record = self.evidence["compute_sanitizer"] = {}
        sanitizer = shutil.which("compute-sanitizer") or shutil.which(
            "compute-sanitizer", path="/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer")
        self.count(sanitizer is not None, "compute-sanitizer is installed")
        if sanitizer is None:
            return
        subjects = [
            (f"{program.name} {name}", [program, f"--gtest_filter={name}"])
            for program in self.test_programs()
            for name in self.list_tests(program, SANITIZED)
        ]
        for pattern in SANITIZED.split(":"):
            found = any(fnmatch.fnmatch(name.split(" ", 1)[1], pattern) for name, _ in subjects)
            self.count(found, f"there is a test {pattern}")
        with tempfile.TemporaryDirectory() as folder:
            short = pathlib.Path(folder) / "short.wav"
            cut_sound(SOUND, short, seconds=0.02)
            hear = [self.bin / "hear", short, "--backend", "cuda"]
            subjects.append(("hear", hear))
            subjects.append(("hear --learn", [*hear, "--learn", "--frames", "40"]))
            subjects.append(("hear --population 40", [*hear, "--population", "40"]))
            self.sanitize(sanitizer, subjects, record)

    def sanitize(self, sanitizer, subjects, record):
        record["version"] = self.run([sanitizer, "--version"])[1].strip().splitlines()[-1:]
        for tool in SANITIZER_TOOLS:
            record[tool] = {"runs": 0, "findings": 0}

        def run_one(tool, subject):
            return self.run([sanitizer, "--tool", tool, "--error-exitcode", SANITIZER_ERROR, *subject[1]], timeout=600,
                            SYNFIRE_TEST_BACKEND="cuda")

        # All tools share the processors, so that none of them waits for the longest run of another.
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            running = {pool.submit(run_one, tool, subject): (tool, subject[0])
                       for subject in subjects for tool in SANITIZER_TOOLS}
            for future in concurrent.futures.as_completed(running):
                tool, name = running[future]
                status, output = future.result()
                found = sanitizer_findings(output)
                record[tool]["runs"] += 1
                record[tool]["findings"] += found or 0
                self.count(status == 0 and found == 0, f"{tool} {name}", output)
        for tool in SANITIZER_TOOLS:
            print(f"    {tool}: {record[tool]['runs']} runs, {record[tool]['findings']} findings")

    # ---- bindings ----------------------------------------------------------------------------------------------------

    def bindings(self):
        record = self.evidence["bindings"] = {}
        if not self.bindings_folder.is_dir():
            print(f"    no {self.bindings_folder}: tests/gpu/pack_bindings.sh packs what runs here")
            return
        mono = self.bindings_folder / "csharp" / "mono" / "bin" / "mono"
        settings = {"SYNFIRE_TEST_BACKEND": "cuda", "SYNFIRE_LIBRARY": str(self.lib), "SYNFIRE_CSHARP_RUNTIME": str(mono),
                    "MONO_PATH": str(mono.parents[1] / "lib" / "mono" / "4.5")}
        for program in sorted((self.bindings_folder / "rust").glob("*")):
            alone = ["--test-threads=1", "--nocapture"] if program.name == "overhead" else []
            status, output = self.run([program, *alone], **settings)
            for line in re.findall(r"^.* ns more$", output, flags=re.M):
                print(f"    {line}")
            counts = re.search(r"^test result: \w+\. (\d+) passed; (\d+) failed", output, flags=re.M)
            self.count_binding(record, f"rust {program.name}", status, counts, output)
        for name in CSHARP_TESTS if mono.exists() else ():
            status, output = self.run([mono, self.bindings_folder / "csharp" / "Tests.exe", name], **settings)
            counts = re.search(r"^(\d+) passed, (\d+) failed$", output, flags=re.M)
            self.count_binding(record, f"csharp {name}", status, counts, output)
        self.count(bool(record), "the folder of the bindings has programs")

    def count_binding(self, record, name, status, counts, output):
        passed, failed = (int(n) for n in counts.groups()) if counts else (0, 0)
        record[name] = {"passed": passed, "failed": failed}
        self.count(status == 0 and passed > 0 and failed == 0, f"bindings {name}", output)
        print(f"    {name}: {passed} passed, {failed} failed")

    # ---- python ----------------------------------------------------------------------------------------------------------

    def python(self):
        record = self.evidence["python"] = {}
        tests = ROOT / "bindings" / "python" / "tests" / "test_torch_gpu.py"
        settings = {"SYNFIRE_LIBRARY": str(self.lib), "PYTHONPATH": str(ROOT / "bindings" / "python")}
        status, output = self.run([sys.executable, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"])
        if status or not output.split()[-1:] == ["True"]:
            print(f"    {sys.executable} has no PyTorch with CUDA, so synfire.torch is not tested")
            return
        status, output = self.run([sys.executable, tests], timeout=900, **settings)
        for line in re.findall(r"^measured: .*$", output, flags=re.M):
            print(f"    {line}")
        counts = re.search(r"^(\d+) passed, (\d+) failed$", output, flags=re.M)
        self.count_binding(record, "python torch", status, counts, output)

    # ---- resume ------------------------------------------------------------------------------------------------------

    def resume(self):
        others, mono = [], self.bindings_folder / "csharp" / "mono" / "bin" / "mono"
        rust = self.bindings_folder / "programs" / "resume"
        if rust.exists():
            others.append(("rust", [rust]))
        if mono.exists():
            others.append(("csharp", [mono, self.bindings_folder / "csharp" / "Resume.exe"]))
        settings = {"SYNFIRE_LIBRARY": str(self.lib), "MONO_PATH": str(mono.parents[1] / "lib" / "mono" / "4.5")}
        os.environ.update(settings)
        with tempfile.TemporaryDirectory() as folder:
            self.report("resume", lambda: check_resume.check(folder, ["cuda", "host"], self.bin / "synfire-resume", others),
                        (RuntimeError, OSError))

    def report(self, name, body, failure):
        """Records the lines that the body returns, or counts what it throws as a failure."""
        try:
            lines = body()
        except failure as failed:
            self.count(False, name, str(failed))
            return
        self.count(True, name)
        self.evidence[name] = lines
        for line in lines:
            print(f"    {line}")

    # ---- digits ------------------------------------------------------------------------------------------------------

    def digits(self):
        program, backends = self.bin / "digits", ["cuda", "host"]
        for name, numbers in FEW_SPIKES.items():
            self.report(name, lambda numbers=numbers: compare_backends.compare(
                program, DIGITS_TESTS / "few.spikes.gz", backends, *numbers), (compare_backends.Different, OSError))
        if self.digits_folder:
            self.report("digits", lambda: compare_backends.compare(program, self.digits_folder, backends, None, 95.0),
                        (compare_backends.Different, OSError))
        self.report("gestures", lambda: compare_backends.compare(
            self.bin / "gestures", None, backends, None, 95.0, ALL_GESTURES), (compare_backends.Different, OSError))

    # ---- context -----------------------------------------------------------------------------------------------------

    def context(self):
        for backend in ("cuda", "host"):
            status, output = self.run([self.bin / "synfire-bench", "context", "--backend", backend, "--json"])
            rows = json.loads(output) if status == 0 else []
            self.evidence[f"context, {backend}"] = rows
            self.count(len(rows) == 7, f"synfire-bench context, {backend}", output)
            for row in rows:
                print(f"    {backend} {row['stage']}: {row['ms']} ms, {row['device_mib']} MiB, host {row['host_mib']} MiB")

    # ---- hear --------------------------------------------------------------------------------------------------------

    def hear(self):
        record = self.evidence["hear"] = {}
        for options in ([], ["--learn"], ["--population", "512"], ["--realtime"]):
            for backend in ("cuda", "host"):
                name = " ".join(["hear", *options, "--backend", backend])
                status, output = self.run([self.bin / "hear", SOUND.relative_to(ROOT), *options, "--backend", backend],
                                          timeout=400)
                table = [line.rstrip() for line in output.splitlines() if re.match(r"\S.{15,16}  ?\S", line)]
                table = [line for line in table if "\r" not in line and "\x1b" not in line]
                record[name] = table
                self.count(status == 0 and any(line.startswith("launch->done") for line in table), name, output)
                print(f"    {name}")
                for line in table:
                    print(f"        {line}")

    # ---- loop --------------------------------------------------------------------------------------------------------

    def loop(self):
        record = self.evidence["loop"] = {}
        for backend in ("cuda", "host"):
            beside = self.folder / f"latency-{backend}"
            self.one_loop(record, backend, [SOUND.relative_to(ROOT), "--svg", beside.with_suffix(".svg"),
                                            "--csv", beside.with_suffix(".csv")])
        for backend in ("cuda", "host"):
            self.one_loop(record, f"{backend} --words", [NAMED_SOUND.relative_to(ROOT), "--words", NAMES.relative_to(ROOT)])

    def one_loop(self, record, name, arguments):
        status, output = self.run([self.bin / "hear", *arguments, "--backend", name.split()[0], "--realtime",
                                   "--loop", str(self.loop_seconds)], timeout=self.loop_seconds * 2 + 60)
        lines = [line.rstrip() for line in output.splitlines()
                 if re.match(r"(launch->done|due->done|woke up late|missed deadlines|words) +\S|missed: ", line)]
        record[name] = lines
        of = re.search(r"^missed deadlines +\d+ of (\d+)", output, flags=re.M)
        own = [line for line in lines if re.match(r"missed: (input|replay)", line) or line.endswith("frames more")]
        self.count(status == 0 and of is not None and len(own) * 10000 <= int(of.group(1)),
                   f"hear --realtime --loop {self.loop_seconds}, {name}", output)
        for line in lines:
            print(f"    {name} {line}")

    # ---- everything --------------------------------------------------------------------------------------------------

    def everything(self, only, path):
        """Runs these stages, or all, and records each at `path` as it ends."""
        recorded = self.recorded(path)
        if "failed" in only:
            self.device()
            if self.is_of_this(recorded, SAME_CODE) and "tests" in recorded["stages"]:
                self.tests_again(recorded)
                write(path, recorded)
            else:
                self.count(False, "the stage \"tests\" of these sources and this device is recorded")
            return
        adds = bool(only)
        for _ in self.stages_of(only):
            self.record(path, adds)
            adds = True  # to the stages before it

    def stages_of(self, only):
        for name in (*STAGES, *(["loop"] if self.loop_seconds > 0 else [])):
            if only and name not in (*only, "device"):
                continue
            print(f"==> {name}")
            began, passed, failed, known = time.monotonic(), self.passed, self.failed, len(self.failures)
            getattr(self, name)()
            seconds = time.monotonic() - began
            self.stages[name] = {"passed": self.passed - passed, "failed": self.failed - failed,
                                 "failures": self.failures[known:], "seconds": round(seconds)}
            print(f"<== {name}: {seconds:.0f} s")
            yield

    def recorded(self, path):
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def is_of_this(self, recorded, keys):
        return all(recorded.get(key) == self.evidence[key] for key in keys)

    def record(self, path, adds):
        """Writes the evidence; `adds`: to that of other stages, if it is of the same sources and device."""
        evidence, stages = self.evidence, self.stages
        before = self.recorded(path) if adds else {}
        if self.is_of_this(before, ("commit", *SAME_CODE)):
            evidence, stages = {**before, **evidence}, {**before.get("stages", {}), **stages}
        evidence["stages"] = stages
        evidence["passed"] = sum(stage["passed"] for stage in stages.values())
        evidence["failed"] = sum(stage["failed"] for stage in stages.values())
        evidence["green"] = evidence["failed"] == 0 and all(name in stages for name in STAGES)
        write(path, evidence)


def write(path, evidence):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(evidence, indent=2) + "\n", encoding="utf-8")


def has_passed(status, output):
    # A filter that matches nothing exits with 0: "1 test" must be there.
    return status == 0 and re.search(r"^\[  PASSED  \] 1 test", output, flags=re.M) is not None


def cut_sound(source, target, seconds):
    """Writes the first moments of speech of a WAV file to another one."""
    with wave.open(str(source)) as read, wave.open(str(target), "wb") as write:
        write.setparams(read.getparams())
        read.setpos(read.getframerate() // 5)  # the recording begins with silence
        write.writeframes(read.readframes(round(seconds * read.getframerate())))


def largest_errors(output):
    """The largest error of each array over all cases of one synfire-golden report."""
    largest = {}
    for name, error in re.findall(r"^ +(\w+) +([0-9.e+-]+) of [0-9.e+-]+", output, flags=re.M):
        largest[name] = max(largest.get(name, 0.0), float(error))
    return largest


def sanitizer_findings(output):
    """The number of errors in a compute-sanitizer report, or None if it has no summary (the tool did not run)."""
    totals = [int(n) for n in re.findall(r"ERROR SUMMARY: (\d+) error", output)]
    totals += [int(n) for n in re.findall(r"RACECHECK SUMMARY: (\d+) hazard", output)]
    return sum(totals) if totals else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--evidence", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--gpu-sources-sha256", required=True)
    parser.add_argument("--bindings", default="build/gpu-bindings")
    parser.add_argument("--digits", help="the folder of digits' data; without it, only the few spikes of the tests")
    parser.add_argument("--only", help="stages by their names, separated by commas")
    parser.add_argument("--loop-seconds", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=max(1, min(16, os.cpu_count() or 2)))
    arguments = parser.parse_args()
    suite = Suite(arguments)
    suite.everything(arguments.only.split(",") if arguments.only else [], pathlib.Path(arguments.evidence))
    print(f"evidence: {arguments.evidence}")
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 0 if suite.failed == 0 and suite.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
