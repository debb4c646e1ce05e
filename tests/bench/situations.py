"""The command lines of synfire-bench that are tested, by situation, and what is expected of them.

A situation is an entry of REFUSED or HELP, or a function marked with @situation. None judges how long something takes.

SPDX-License-Identifier: MIT
"""
import os
import re

from checks import (expect, fails, has, has_positive, number, one_row, read, read_json, refused, require, run, shows,
                    start, write)

with_cuda = False  # whether the library was built with CUDA; bench_test.py sets it

# Small and fast.
QUICK = "--backend host --rounds 2 --copy-mib 1"
HOST = "--backend host --threads 1"
ONCE = HOST + " --rounds 1 --copy-mib 1"

# Command lines, and how the reason begins for which they are refused.
REFUSED = {
    "no_command": [("", "a command is needed")],
    "unknown_command": [("nothing", "unknown command nothing")],
    "unknown_option": [("layer --speed 9", "layer: unknown option --speed")],
    "option_of_another_command": [("tutorial --steps 4", "tutorial: unknown option --steps")],
    "option_without_value": [("layer --steps", "--steps needs a value: T"),
                             ("sweep --csv", "--csv needs a value: FILE")],
    "stray_argument": [("layer file", 'unexpected argument "file"')],
    "unknown_model": [("layer --model hodgkin",
                       "--model hodgkin is unknown; allowed are lif, if, plif, qif, eif, izhikevich")],
    "zero_steps": [("layer --steps 0", '--steps is "0"; allowed are 1 to')],
    "too_large": [("layer --steps 1099511627776 --neurons 1099511627776", "--steps times --batch times --neurons")],
    "bad_number": [("layer --neurons 1e6", '--neurons is "1e6"')],
    "unknown_dtype": [("layer --dtype f8", "--dtype f8 is unknown; allowed are f32, f64, f16, bf16")],
    "unknown_spikes": [("sweep --spikes bytes", "--spikes bytes is unknown; allowed are bits, dense, u8, time-bits")],
    "unknown_tape": [("layer --tape full", "--tape full is unknown; allowed are recompute, none, store, store-narrow")],
    "tape_narrow_f32": [("layer --tape store-narrow", "--tape store-narrow requires --dtype f16 or bf16, not f32")],
    "tape_none_backward": [("layer --tape none", "--tape none stores nothing for --direction both")],
    "network_unknown": [("network --backend host --network wide",
                         "--network wide is unknown; allowed are deep, speech, odd, control, control1, control64, vggsnn, "
                         "dvsgesture, sew18, nmnist-nir, neurobench-dvs, mnist-conv, sizes such as 300-700-90-11, and "
                         "files NAME.safetensors")],
    "network_published_bad": [("network --network vggsnn --weight-bits 12", "--weight-bits is 12; allowed are 8, 16 and 24"),
                              ("network --network vggsnn --side 0", '--side is "0"; allowed are 1 to 4096'),
                              ("network --network vggsnn --divisor 0", '--divisor is "0"; allowed are 1 to 1024')],
    "network_one_size": [("network --network 12", "--network needs at least two sizes")],
    "network_bad_size": [(f"network --network {sizes}", '--network is "')
                         for sizes in ("12-0", "12-", "12--5", "12-x", "99999999999999999999-3")],
    "conv2d_unknown": [("conv2d --shape wide", "--shape wide is unknown; allowed are events, vgg2, "),
                       ("conv2d --input 101", '--input is "101"; allowed are 0 to 100'),
                       ("conv2d --network deep", "conv2d: unknown option --network")],
    "latency_zero_replays": [("latency --replays 0", '--replays is "0"; allowed are 1 to')],
    "latency_too_many_layers": [("latency --layers 1025", '--layers is "1025"; allowed are 1 to 1024')],
    "latency_backward": [("latency --direction backward",
                          "--direction backward is not measured on its own; allowed are forward and both")],
    "latency_unknown_policy": [("latency --policy sleep", "--policy sleep is unknown; allowed are spin, yield, block")],
    "latency_unknown_load": [("latency --load full", "--load full is unknown; allowed are none, busy")],
    "latency_busy_host": [("latency --backend host --load busy",
                           "--load busy needs a GPU and cannot be combined with --backend host")],
    "latency_high_host": [("latency --priority high --backend host", "--priority high needs a GPU")],
    "latency_network_refused": [
        ("latency --network 64", "--network needs at least two sizes"),
        ("latency --network control", "--network control: sizes such as 64-10 are needed"),
        ("latency --network 64-10 --layers 2", "--network is measured alone; of the options for chains it takes --steps"),
        ("latency --batch 2", "--batch and --input are for --network")],
    "shapes_refused": [("shapes --part some", "--part some is unknown; allowed are list, random, kinds, all"),
                       ("shapes --random odd", '--random is "odd"; allowed are 0 to'),
                       ("shapes --largest 0", '--largest is "0"; allowed are 1 to'),
                       ("shapes --dtype f8", "--dtype f8 is unknown; allowed are f32, f64, f16, bf16"),
                       ("shapes --steps 4", "shapes: unknown option --steps"),
                       ("shapes --random", "--random needs a value: SEED")],
}

# Command lines that ask for help, and patterns of what is shown.
HELP = {
    "help": ("--help", ["usage: synfire-bench layer .*synfire-bench sweep .*synfire-bench plot .*"
                        "synfire-bench tutorial .*synfire-bench latency "]),
    **{f"help_{command}": (f"{command} --help", [f"^usage: synfire-bench {command} .*  --"]) for command in (
        "layer", "sweep", "plot", "tutorial", "latency", "context", "data", "events", "network", "conv2d", "shapes", "loaded")},
}
HELP["help_network"][1].append("--network NAME .*--profile .*speech +700-512-20, T = 100, B = 256")

SITUATIONS = {}  # by name: the label of its test (tests/Labels.cmake) and its function


def situation(label):
    """Marks a function whose name is that of a situation."""
    def mark(check):
        SITUATIONS[check.__name__] = (label, check)
        return check
    return mark


for _name, _cases in REFUSED.items():
    SITUATIONS[_name] = ("once", lambda cases=_cases: [refused(*case) for case in cases])
for _name, _case in HELP.items():
    SITUATIONS[_name] = ("once", lambda case=_case: shows(*case))


# ---- results and where they go ---------------------------------------------------------------------------------------


@situation("once")
def csv_and_json():
    refused("layer --csv --json", "--csv and --json exclude each other")
    refused("latency --json --csv", "--csv and --json exclude each other")
    run(f"layer {QUICK} --steps 2 --neurons 64 --csv --csv")


@situation("once")
def no_memory():
    # 4 TiB per sequence: refused before any of it is allocated.
    fails(f"layer {QUICK} --steps 1048576 --neurons 1048576",
          r"^synfire-bench: the arrays take [0-9.]+ GiB, but at most [0-9.]+ GiB of memory may be used\n\Z")
    fails("latency --backend host --layers 1024 --steps 65536 --neurons 16777216",
          r"^synfire-bench: the arrays take [0-9.]+ GiB,")


@situation("once")
def full_disk():
    # Results that cannot be written are not a success, wherever they go.
    if not os.path.exists("/dev/full"):
        print("this system has no /dev/full")
        return
    for arguments in ("layer --help", f"layer {QUICK} --neurons 9", f"layer {QUICK} --neurons 9 --csv",
                      "network --backend host --network 5-3 --mode inference --rounds 1 --copy-mib 1 --json"):
        fails(arguments, r"^synfire-bench: the results could not be written\n\Z", output="/dev/full")
    fails(f"shapes {ONCE} --largest 100 --dtype f32 --csv /dev/full",
          r"^synfire-bench: the results could not be written\n\Z")


@situation("once")
def fallback():
    if with_cuda:
        return  # whether it falls back depends on the machine
    _, errors = run("layer --rounds 1 --copy-mib 1 --steps 2 --neurons 64")
    expect(errors, "running on the host: the library was built without CUDA")
    status, output, errors = start("layer --backend cuda")
    require(status == 2, f"exit status {status}, not 2\n{output}{errors}")
    expect(errors, r"no context: .SYN-CONTEXT-NO-DEVICE.")


# ---- layer -----------------------------------------------------------------------------------------------------------


def layer(arguments, **wanted):
    """Measures one layer. Returns the row, whose times make sense and which has these values."""
    row = one_row(f"layer {QUICK} --csv {arguments}", "percent_of_copy")
    has(row, **wanted)
    has_positive(row, "median_us", "min_us", "p10_us", "p90_us", "max_us", "done_p50_us", "done_p99_us", "gb_per_s",
                 "copy_gb_per_s", "percent_of_copy")
    times = [number(row, name) for name in ("min_us", "median_us", "max_us")]
    require(times == sorted(times), "min {}, median {}, max {}".format(*times))
    return row


def fires(row):
    """The input is such that a part of the neurons spikes."""
    percent = number(row, "spike_percent")
    require(10 <= percent <= 50, f"{row['model']}: {percent} % spikes")


@situation("once")
def layer_threads_per_block():
    layer("--steps 4 --neurons 256 --threads-per-block 64", threads_per_block=64)
    layer("--steps 4 --neurons 256", threads_per_block=0)
    refused("layer --threads-per-block 48", "--threads-per-block is 48; allowed are 32, 64, 96, 128 and 0")


@situation("memory")
def layer_text():
    output, _ = run(f"layer {QUICK} --steps 4 --neurons 1024")
    expect(output, r"^synfire .* on host.*copy of 1 MiB in the same run: "
                   r".*B/element +GB/s +% of copy *\n +lif +both +hot ")


@situation("once")
def layer_forward():
    # 64 x 1024 x (4 + 1/8), plus 4 x 4096 for V in, V out and two checkpoints of V.
    layer("--steps 64 --neurons 1024 --direction forward", bytes=270336, bytes_per_element=4.125,
          bytes_with_state=286720, samples=2, cache="hot", backend="host")


@situation("once")
def layer_backward():
    layer("--steps 32 --neurons 1024 --direction backward", bytes=393216, bytes_per_element=12, bytes_with_state=397312)


@situation("once")
def layer_both():
    fires(layer("--steps 32 --neurons 1024 --direction both", bytes=528384, bytes_per_element=16.125))


@situation("once")
def layer_f64_dense():
    layer("--steps 8 --neurons 256 --dtype f64 --spikes dense", bytes_per_element=40, dtype="f64", spikes="dense")


@situation("once")
def layer_odd():
    # Two words for 33 neurons.
    layer("--steps 3 --batch 5 --neurons 33 --direction forward --threads 1", bytes=2100, batch=5, threads=1)


@situation("once")
def layer_tape_none():
    layer("--steps 64 --neurons 1024 --direction forward --tape none", bytes=270336, bytes_with_state=278528,
          tape="none")


@situation("once")
def layer_f16():
    # Forward 2 + 1/8, backward 6. State and checkpoints stay f32: V in and out, 2 checkpoints written and read.
    layer("--steps 64 --neurons 1024 --dtype f16", bytes=532480, bytes_per_element=8.125, bytes_with_state=557056,
          dtype="f16")


@situation("once")
def layer_bf16_store():
    # Forward 2 + 1 + 4. Backward, with H in f32 instead of X, 4 + 2 + 2.
    layer("--steps 64 --neurons 1024 --dtype bf16 --spikes u8 --tape store", bytes=983040, bytes_per_element=15,
          spikes="u8", tape="store")


@situation("once")
def layer_f16_narrow():
    # Forward 2 + 1/8 + 2 + 1/8, backward 2 + 1/8 + 2 + 2.
    fires(layer("--steps 64 --neurons 1024 --dtype f16 --spikes time-bits --tape store-narrow", bytes=679936,
                bytes_per_element=10.375, spikes="time-bits", tape="store-narrow"))


@situation("once")
def layer_time_bits_odd():
    # Two words for 33 steps.
    layer("--steps 33 --batch 3 --neurons 7 --direction forward --spikes time-bits", bytes=2940, spikes="time-bits")


@situation("once")
def layer_cold():
    row = layer("--steps 4 --neurons 4096 --direction forward --cache cold --threads 1", cache="cold",
                bytes_per_element=4.125)
    passes = int(row["passes_per_sample"])
    require(passes % 64 == 0, f"{passes} passes do not use each of 64 sets equally")


@situation("once")
def layer_json():
    output, _ = run(f"layer {QUICK} --steps 4 --neurons 1024 --json --surrogate atan")
    row = read_json(output)[0]
    has(row, bytes=66048, surrogate="atan")
    has_positive(row, "percent_of_copy")


@situation("memory")
def every_model():
    for model in ("lif", "if", "plif", "qif", "eif", "izhikevich"):
        fires(layer(f"--model {model} --steps 16 --neurons 512", model=model))


# ---- sweep and plot --------------------------------------------------------------------------------------------------


@situation("once")
def sweep():
    output, _ = run(f"sweep {ONCE} --limit 1 --csv sweep.csv --json sweep.json")
    expect(output, "reduced set for the host: .*lif +forward +hot +1 +1 +256 .*copy at the end: .*points measured in ")
    n_rows = len(read("sweep.csv").splitlines()) - 1
    require(n_rows >= 6, f"sweep.csv has {n_rows} rows")
    has(read_json(read("sweep.json"), n_rows)[0], model="lif")
    output, _ = run("plot sweep.csv --output sweep.svg --cache cold")
    expect(output, "3 panels")


def sweep_file():
    """A sweep's file as from a GPU: two lines forward, one backward, and rows that a plot must skip."""
    rows = ["lif,sigmoid,f32,bits,forward,hot,8,256,3900,12.5", "lif,sigmoid,f32,bits,forward,hot,8,4096,3900,50",
            "lif,sigmoid,f32,bits,forward,any,32,4096,3900,97.25", "lif,sigmoid,f32,bits,backward,hot,8,4096,3900,88",
            "lif,sigmoid,f32,bits,forward,cold,16,4096,3900,40", "lif,sigmoid,f64,bits,forward,hot,4,4096,3900,41",
            "qif,sigmoid,f32,bits,forward,hot,2,4096,3900,42"]
    return ("device,model,surrogate,dtype,spikes,direction,cache,steps,neurons,copy_gb_per_s,percent_of_copy\n"
            + "".join(f'"a <GPU>, big",{row}\n' for row in rows))


@situation("memory")
def plot():
    write("sweep.csv", sweep_file())
    output, _ = run("plot sweep.csv --output sweep.svg")
    expect(output, "sweep.svg: 2 panels, 3 lines")
    svg = read("sweep.svg")
    expect(svg, r"^<svg .*a &lt;GPU&gt;, big.*>neurons N<.*>steps T<.*>32<.*>8<.*</svg>\n\Z")
    lines, points = svg.count("<polyline"), svg.count("<circle")
    require((lines, points) == (3, 4), f"{lines} lines and {points} points; 3 and 4 are expected")


@situation("once")
def plot_without_output():
    expect(refused("plot sweep.csv", "--output FILE.svg is needed"), "usage: synfire-bench plot FILE.csv ")


@situation("once")
def plot_absent():
    fails("plot absent.csv --output sweep.svg", "cannot open absent.csv")


@situation("once")
def plot_no_row():
    write("sweep.csv", sweep_file())
    fails("plot sweep.csv --output sweep.svg --model eif", "no row of sweep.csv has model eif, dtype f32 and cache hot")


@situation("once")
def plot_malformed():
    for text, reason in ((sweep_file() + "one,value\n", "sweep.csv: a line has 2 values, the first one 11"),
                         ("time\n1\n", 'the file has no column "cache"'),
                         (sweep_file().replace("97.25", "fast"),
                          '"fast" in column "percent_of_copy" is not a positive number')):
        write("sweep.csv", text)
        fails("plot sweep.csv --output sweep.svg", reason)


# ---- context, data and tutorial --------------------------------------------------------------------------------------


@situation("once")
def context():
    output, _ = run(f"context {HOST} --json")
    rows = read_json(output, 7)
    for row in rows:
        has_positive(row, "ms")
    has_positive(rows[3], "host_mib")  # of a layer that has run
    output, _ = run(f"context {HOST}")
    expect(output, "stage +ms +device MiB +host MiB.*context .*graph, instantiated .*first replay .*context destroyed ")
    output, _ = run("context --backend host --csv")
    expect(output, "^stage,ms,device_mib,host_mib\n")
    refused("context --rounds 3", "context: unknown option --rounds")


@situation("once")
def data():
    output, _ = run(f"data {HOST} --rounds 2 --data-mib 1 --json")
    for row in read_json(output, 6):  # two types of inputs in three kinds of memory
        has_positive(row, "first_ms", "again_ms", "check_ms", "check_gb_per_s")
    output, _ = run(f"data {HOST} --rounds 1 --data-mib 1")
    expect(output, "inputs +memory +MiB +first ms +again ms +check ms +GB/s.*f32 values +device +1 "
                   ".*u8 spikes +host +1 ")
    refused("data --steps 3", "data: unknown option --steps")
    refused("data --data-mib 0", '--data-mib is "0"; allowed are 1 to')


@situation("once")
def conv2d():
    output, _ = run(f"conv2d {ONCE} --shape nmnist --json")
    rows = read_json(output, 3)  # the product and both gradients
    require([row["operation"] for row in rows] == ["product", "weight gradient", "input gradient"], "operations")
    for row in rows:
        has(row, shape="nmnist", map="34x34x2", output="16x16x16", kernel=5, stride=2, groups=1, steps=1, batch=1)
        has_positive(row, "median_us", "giga_multiply_adds_per_s", "gb_per_s")
    # 2,312 bits are 73 words; 4,096 outputs.
    require([row["bytes"] for row in rows] == [4 * (73 + 4096), 4 * (73 + 4096), 4 * (2312 + 4096)], "bytes")
    output, _ = run(f"conv2d {ONCE} --shape odd --input 100")
    expect(output, "shape +map .*odd +31x45x19 +31x45x33 +3 +1 +1 +5 +7 +product")


@situation("once")
def events():
    output, _ = run(f"events {HOST} --rounds 2 --events 20000 --json")
    for row in read_json(output, 8):
        has_positive(row, "events", "ms", "million_per_s")
    output, _ = run(f"events {HOST} --rounds 1 --events 1000")
    expect(output, "bins +sensor +steps +result +events +ms +million/s.*count, sorted +128x128 +16 +u8 +1000 ")
    refused("events --steps 3", "events: unknown option --steps")
    refused("events --events 0", '--events is "0"; allowed are 1 to')


@situation("once")
def tutorial():
    output, _ = run(f"tutorial {HOST} --neurons 1000 --rounds 1 --json")
    allowed = {"f32": 1e-6, "f64": 0, "f16": 1e-3, "bf16": 1e-2}
    for row in read_json(output, 20):  # five T in four dtypes
        has_positive(row, "largest_gradient", "spikes")
        error = number(row, "gradient_error_where_spikes_agree")
        require(error <= allowed[row["dtype"]], f"the error is {error}\n{row}")


# ---- network ---------------------------------------------------------------------------------------------------------


@situation("memory")
def network_text():
    output, _ = run(f"network {ONCE} --network control1")
    expect(output, "^ +network .*synfire .* on host.*copy: .* control1 +64-128-128-8 +1 +1 inference +all "
                   ".* control1 +64-128-128-8 +1 +1 +training +all ")


@situation("once")
def network_csv():
    # Odd sizes; a row for the whole and one for each operation, whose shares add up.
    output, _ = run(f"network {ONCE} --network 37-45-11 --steps 5 --batch 3 --mode training --profile --csv")
    count = len(re.findall(r"\n[^\n]*,given,37-45-11,5,3,training,", output))
    # Two synapses and layers, mean, loss, all their gradients but that of the input, and a step.
    require(count == 14, f"{count} rows; 14 are expected\n{output}")
    expect(output, '^library,device,network,sizes,steps,batch,mode,operation,median_us,.*,all,.*,'
                   '"?synapse 1, weight gradient"?,')


@situation("once")
def network_json():
    output, _ = run(f"network {ONCE} --network 5-3 --mode inference --input 100 --json")
    row, = read_json(output, 1)
    has(row, sizes="5-3", steps=16, cublas_f32_us=None)
    has_positive(row, "median_us", "giga_multiply_adds_per_s")


@situation("once")
def network_svg():
    run(f"network {ONCE} --network 5-3 --mode both --svg network.svg")
    expect(read("network.svg"), r"^<svg .*>Time of each operation of a replay<.*>given \(5-3\), T = 16, B = 1, "
                                r"inference: .*training: .*>synapse 1, weight gradient: .*</svg>\n\Z")


@situation("once")
def network_values():
    output, _ = run(f"network {ONCE} --network 37-5 --values --taus")
    expect(output, "given +37-5 +16 +1 inference +all .* given +37-5 +16 +1 +training +all ")


def published(name, arguments, input_shape, modes=("inference", "training")):
    """Measures a small published network. Returns all rows, first that of the whole network in each mode."""
    output, _ = run(f"network {ONCE} --network {name} --steps 2 --batch 3 --json {arguments}")
    rows = read_json(output)
    for mode in modes:
        row = next(row for row in rows if row["mode"] == mode)
        has(row, network=name, sizes=input_shape, steps=2, batch=3, operation="all")
        has_positive(row, "median_us", "done_p50_us", "device_mib")
    return rows


@situation("once")
def network_published():
    # A convolution, a normalisation and neurons each; some operations run only together with those that write for them.
    all_, *rows = published("dvsgesture", "--side 32 --divisor 64 --profile --mode training", "32x32x2", ["training"])
    names = [row["operation"] for row in rows]
    for wanted in ("convolution, [2, 3, 32 x 32 x 2] to 32 x 32 x 2", "normalize backward, 2 channels of",
                   "backward, plif layer 6", "optimizer step"):
        require(any(wanted in name for name in names), f"no {wanted} in {names}")
    share = sum(number(row, "share_percent") for row in rows)
    require(abs(share - 100) < 1e-6, f"all shares are {share} %")
    require(0 < number(all_, "spikes_percent") < 100, "the share of spikes is that of no network")


@situation("once")
def network_published_others():
    for name, side, shape in (("vggsnn", 16, "16x16x2"), ("sew18", 32, "32x32x3"), ("nmnist-nir", 18, "18x18x2"),
                              ("neurobench-dvs", 8, "8x8x2"), ("mnist-conv", 16, "16x16x1")):
        published(name, f"--side {side} --divisor 32 --weight-bits 16 --transient", shape)


@situation("once")
def network_file():
    fails(f"network {ONCE} --network missing.safetensors", r"SYN-FILE-OPEN")


# ---- latency ---------------------------------------------------------------------------------------------------------


@situation("once")
def latency_text():
    output, _ = run(f"latency {HOST} --layers 2 --replays 20")
    expect(output, r"^synfire .* on host.*layers direction .* p50 us .*\n +2 +both +8 +1024 +none +default +spin "
                   r".*synfire_graph_set_value\(\) .*1 rows in ")


@situation("once")
def latency_policies():
    for policy in ("spin", "yield", "block"):
        output, _ = run(f"latency {HOST} --neurons 64 --policy {policy} --replays 20")
        expect(output, f" default +{policy} .*1 rows in ")


@situation("once")
def latency_both():
    # --full measures every value of the options that are not given: 2 of T, 4 of N, forward and both, three policies.
    output, _ = run(f"latency {HOST} --layers 3 --replays 2 --full --csv")
    rows = re.findall(r",3,(forward|both),([18]),(256|1024|16384|131072),none,default,,(spin|yield|block),2,", output)
    require(len(rows) == 48 and len(set(rows)) == 48,
            f"{len(rows)} rows, {len(set(rows))} different ones; 48 are expected\n{output}")


@situation("once")
def latency_csv():
    row = one_row(f"latency {HOST} --csv --layers 2 --steps 3 --neurons 100 --direction forward --policy yield "
                  "--replays 500", "set_neurons_launch_ns")
    has(row, backend="host", threads=1, layers=2, direction="forward", steps=3, neurons=100, load="none",
        priority="default", policy="yield", replays=500, bare_replays=500, bare_seen_by="return", node_priority="",
        bare_query_p50_us="", bare_counter_p50_us="", launch_added_ns="")
    percentiles = ["p50_us", "p99_us", "p999_us", "p9999_us", "max_us"]
    has_positive(row, *percentiles)
    times = [number(row, name) for name in percentiles]
    require(times == sorted(times), f"{', '.join(percentiles)} are {times}")
    has_positive(row, "p99_by_p50", "bare_p50_us", "bare_p99_us", "bare_p999_us", "bare_p9999_us", "bare_max_us",
                 "ratio_p50", "launch_ns", "set_parameter_ns", "set_parameter_launch_ns", "set_value_ns",
                 "set_value_launch_ns", "set_enabled_ns", "set_enabled_launch_ns", "set_neurons_ns",
                 "set_neurons_launch_ns")


@situation("once")
def latency_json():
    output, _ = run(f"latency {HOST} --neurons 33 --replays 10 --json")
    has(read_json(output, 1)[0], neurons=33, direction="both", replays=10)


@situation("once")
def latency_network():
    output, _ = run(f"latency {HOST} --network 33-7-3 --replays 20")
    expect(output, r"^synfire .* on host.*eager call of one layer.*\n +33-7-3 +1 +1 +spin ")
    row = one_row(f"latency {HOST} --network 64-20-10 --steps 3 --batch 2 --input 30 --policy yield --replays 30 --csv",
                  "spikes_percent")
    has(row, backend="host", sizes="64-20-10", steps=3, batch=2, policy="yield", replays=30, bare_seen_by="return")
    times = [number(row, name) for name in ("p50_us", "p99_us", "p999_us", "p9999_us", "max_us")]
    require(times == sorted(times), f"the percentiles are {times}")
    has_positive(row, "p50_us", "bare_p50_us", "bare_p99_us", "ratio_p50", "launch_ns")


@situation("once")
def latency_svg():
    # The default selection on the host: 28 rows with one panel each.
    output, _ = run(f"latency {HOST} --replays 3 --svg latency.svg")
    expect(output, "28 rows in ")
    svg = read("latency.svg")
    expect(svg, r"^<svg .*>Launch to done<.*>1 layer, forward \+ backward, T 8, N 1024<.*"
                r">16 layers, forward, T 8, N 1024<.*</svg>\n\Z")
    measured, beside = svg.count('class="measured"'), svg.count('class="beside"')
    require((measured, beside) == (28, 28), f"{measured} and {beside} histograms; 28 of each are expected")


@situation("once")
def latency_limit():
    output, _ = run(f"latency {HOST} --full --limit 1 --layers 16 --neurons 256 --steps 8 --direction both "
                    "--replays 10")
    expect(output, "3 rows in ")
    output, _ = run(f"latency {HOST} --layers 1 --full --limit 1 --replays 1000")
    expect(output, "not measured: the last [0-9]+ of 16 chains, because 1 s had passed")


@situation("once")
def latency_no_file():
    fails(f"latency {HOST} --replays 1 --layers 1 --svg absent/latency.svg", "cannot write absent/latency.svg")


# ---- shapes ----------------------------------------------------------------------------------------------------------


def run_shapes(arguments):
    """Runs `shapes`. Times are the machine's, so either exit status may be right; it must be that of the output."""
    status, output, errors = start(f"shapes --backend host --rounds 1 --copy-mib 1 {arguments}")
    require(status in (0, 1), f"exit status {status}\n{output}{errors}")
    if status == 0:
        expect(output, r" 0 of them pass a bound\n\Z")
    else:
        expect(errors, r"^synfire-bench: [1-9][0-9]* rows pass a bound\n\Z")
    return output


@situation("memory")
def shapes():
    output = run_shapes("--threads 1 --largest 2000 --csv shapes.csv --json shapes.json --svg shapes.svg")
    expect(output, "left out: [0-9]+ layers of more than 2000 elements")
    header, *lines = read("shapes.csv").splitlines()
    expect(header, r",passed_bounds\Z")
    rows = read_json(read("shapes.json"), len(lines))

    # As many rows as are counted say that they pass a bound.
    passed = sum(not line.endswith(",ok") for line in lines)
    expect(output, f"\n{len(lines)} rows in [0-9]+ s, {passed} of them pass a bound\n")

    # So do as many take longer than their bytes allow, and as many of them no longer than the bound that applied.
    beyond = within = 0
    for row in rows:
        has_positive(row, "smallest_reference_us")
        time, by_bytes, bound = (number(row, name) for name in ("us", "bytes_bound_us", "bound_us"))
        agrees = {"bytes": bound == by_bytes, "latency": bound > by_bytes}.get(row["bound_by"], bound >= by_bytes)
        require(agrees, f"bound {bound} by {row['bound_by']}, by bytes {by_bytes}\n{row}")
        beyond += time > by_bytes
        within += by_bytes < time <= bound
    expect(output, f"\nbeyond the bound by bytes: {beyond} rows, "
                   f"of which {within} are bound by latency and within that\n")

    # 16 steps of 8 neurons: X 512, a word for each step 64, V in, V out and one checkpoint 96.
    found = [row for row in rows
             if (row["layer"], row["dtype"], row["direction"]) == ("control, output", "f32", "forward")]
    require(found, "shapes.json has no row of the control network's output in f32")
    for row in found:
        has(row, bytes=576, bytes_with_state=672, reference_bytes_with_state=9984)
        has_positive(row, "us", "reference_us", "scaled_reference_us", "ratio", "percent_of_copy")
    expect(read("shapes.svg"), r"^<svg .*forward: time by the reference's, scaled.*backward: time by .*</svg>\n\Z")


@situation("once")
def shapes_random():
    # The same seed draws the same shapes.
    shape = re.compile(r"^(.*,random,,[^,]*,[^,]*,f16,bits,recompute,forward,[0-9]*,[0-9]*,[0-9]*,[0-9]*,[0-9 ]*),.*")
    drawn = []
    for name in ("one.csv", "two.csv"):
        run_shapes(f"--threads 2 --random 3 --largest 3000 --dtype f16 --direction forward --csv {name}")
        drawn.append([shape.sub(r"\1", line) for line in read(name).splitlines()])
    require(drawn[0] == drawn[1], "different shapes:\n" + "\n\n".join("\n".join(lines) for lines in drawn))


@situation("once")
def shapes_kinds():
    run_shapes("--threads 1 --part kinds --largest 1000 --csv kinds.csv")
    text = read("kinds.csv")
    for kind in ("izhikevich", "li", "none", "atan", "squarewave_fourier_series", "dense", "u8", "time-bits", "store",
                 "store-narrow"):
        require(f",{kind}," in text, f"kinds.csv has no {kind}:\n{text}")


@situation("once")
def shapes_sources():
    output, _ = run("shapes --sources")
    expect(output, r"^sj-fc: SpikingJelly, .*\nsource +B +N +T +layer\n.*\nsnntorch-5 +128 +1000 +25 +hidden\n")


@situation("once")
def shapes_no_file():
    fails(f"shapes {ONCE} --largest 100 --csv absent/shapes.csv", "cannot write absent/shapes.csv")


# ---- loaded ----------------------------------------------------------------------------------------------------------


@situation("once")
def loaded_refused():
    refused("loaded --steps 4", "loaded: unknown option --steps")
    refused("loaded --random odd", '--random is "odd"; allowed are 0 to')
    fails(f"loaded {HOST} --rounds 1", "SYN-MODEL-COMPILER", environment={"SYNFIRE_CXX": "/absent/compiler"})
