-- What the binding does: arrays, parameters and states, operations, graphs, networks, texts; every structure and constant is
-- what the C compiler says.
--
-- SPDX-License-Identifier: MIT
local ffi, check, synfire = require("ffi"), require("check"), require("synfire")

local context = synfire.context{ backend = "host", n_threads = 1 }

local function same(got, expected, what)
  for i, value in ipairs(expected) do check.equal(tonumber(got[i]), value, what .. "[" .. i .. "]") end
  check.equal(#got, #expected, "the length of " .. what)
end

local function small_network(fields)
  local desc = { n_steps = 5, batch = 3, seed = 7 }
  for key, value in pairs(fields or {}) do desc[key] = value end
  local network = context:network(desc)
  network:add_input("in", "rates", 7)
  network:add_synapse("first", 33)
  network:add_neurons("hidden", "lif")
  network:set_value("hidden", "surrogate", "atan")
  network:add_synapse("second", 2)
  network:add_neurons("potential", "li")
  network:add_readout("out", "mean")
  if not desc.own_loss then network:add_loss("loss", "cross_entropy") end
  network:add_optimizer("adam", "adam", 0.01)
  return network:build()
end

local function data(n_rows)
  local rates, labels = {}, {}
  for r = 0, n_rows - 1 do
    labels[r + 1] = r % 2
    for k = 0, 6 do rates[#rates + 1] = (k + r) % 2 == 0 and 0.6 or 0.1 end
  end
  return rates, labels
end

return {
  { "memory in use", function()
    local layer = context:layer{ n_steps = 4, n_neurons = 30 }
    local use, all = layer:get_memory_use(), synfire.memory_use()
    check.equal(use.layer_bytes > 0 and use.layer_bytes <= context:get_memory_use().layer_bytes, true, "the layer's bytes")
    check.equal(all.host_bytes >= context:get_memory_use().host_bytes, true, "the bytes of all contexts")
    layer:close()
  end },
  { "the layout that the C compiler sees", function()
    local output, good = check.output(os.getenv("SYNFIRE_PROGRAMS") .. "/bindings-layout")
    check.that(good, "bindings-layout ends well")
    local values, n = {}, 0
    for group, constants in pairs(synfire.constants) do
      for name, value in pairs(constants) do values["SYNFIRE_" .. (group == "status" and "" or group:upper() .. "_") .. name:upper()] = value end
    end
    for line in output:gmatch("[^\n]+") do
      local kind, name, first, second = line:match("^(%w+)\t([%w_.]+)\t(-?%d+)\t?(%d*)$")
      check.that(kind, "a line of the layout: " .. line)
      if kind == "struct" or kind == "type" then
        check.equal(ffi.sizeof(name), tonumber(first), "the size of " .. name)
      elseif kind == "field" then
        local struct, field = name:match("^([%w_]+)%.([%w_]+)$")
        check.equal(ffi.offsetof(struct, field), tonumber(first), "the offset of " .. name)
      elseif not name:find("^SYNFIRE_ABI_") then
        check.equal(values[name], tonumber(first), name)
        values[name] = nil
      end
      n = n + 1
    end
    for name in pairs(values) do error("C has no " .. name) end
    print(n .. " sizes, offsets and constants agree with the C compiler")
    check.that(n > 600, "as many as there are")
  end },
  { "tables and FFI arrays", function()
    local buffer = context:buffer{ shape = { 2, 3 }, values = { 1, 2, 3, 4, 5, 6 } }
    same(buffer:to_table(), { 1, 2, 3, 4, 5, 6 }, "the buffer")
    buffer:upload(ffi.new("float[2]", 8, 9), 4)
    check.equal(buffer:array()[5], 9, "the last element")
    check.equal(ffi.sizeof(buffer:array()), 24, "the bytes of the memory")
    local into = synfire.array("f32", 6)
    check.that(buffer:download(into) == into and into[4] == 8, "downloaded into an array")
    local desc = buffer:get_desc()
    same(desc.shape, { 2, 3 }, "the shape")
    check.equal(desc.dtype .. " " .. desc.memory .. " " .. desc.n_elements, "f32 device 6", "the description")
    for dtype, values in pairs({ f64 = { 1 / 3 }, u32 = { 4294967295 }, u64 = { 2 ^ 53 }, u8 = { 255 }, bits = { 5 } }) do
      same(context:buffer{ dtype = dtype, values = values }:to_table(), values, dtype)
    end
    check.equal(context:buffer{ values = ffi.new("double[3]") }:get_desc().dtype, "f64", "the type of an FFI array")
    check.equal(context:buffer{ values = ffi.new("float[2][3]") }:get_desc().n_elements, 6, "the elements of an FFI array of arrays")
    local own = ffi.new("float[4]", 1, 2, 3, 4)
    local borrowed = context:buffer{ borrow = own }
    borrowed:fill(5)
    check.equal(own[3], 5, "borrowed memory")
  end },
  { "parameters and states", function()
    local layer = context:layer{ n_steps = 2, n_neurons = 3, batch = 2, model = "qif", tau = 4, v_threshold = { 1, 2, 3 } }
    check.equal(layer:get_parameter("tau"), 4, "one number")
    same(layer:get_parameter("v_threshold"), { 1, 2, 3 }, "one for each neuron")
    layer:set_parameter("tau", { 2, 3, 4 })
    layer:set_parameters{ tau = 5, v_reset = -1 }
    check.equal(layer:get_parameter("v_reset"), -1, "several at once")
    check.that(#layer:parameters() >= 4 and layer:parameters()[1].name == "tau", "its parameters")
    layer:write_state("v", { 1, 2, 3, 4, 5, 6 })
    local kept = layer:snapshot{ first_row = 1, n_rows = 1 }
    layer:reset_state()
    check.equal(layer:read_state("v")[5], -1, "the state of new neurons")
    layer:restore(kept, { first_row = 0, n_rows = 1 })
    check.equal(layer:read_state("v")[2], 6, "a row that was put back elsewhere")
    check.equal(layer:get_desc().model, "qif", "its model")
    check.that(layer:source():find("__global__", 1, true), "the text of its kernels")
    check.equal(synfire.layer_memory{ n_steps = 2, n_neurons = 3 }.state_bytes, 256, "the bytes of a state")
  end },
  -- Against numbers that were worked out in fractions. X of neuron n at step t is (5t + 3n) mod 8, halved.
  { "models with a current and an adaptive threshold, rules of firing", function()
    local x = {}
    for t = 0, 5 do
      for n = 0, 3 do x[#x + 1] = (5 * t + 3 * n) % 8 / 2 end
    end
    local function expect(desc, fired, states)
      desc.n_steps, desc.n_neurons = 6, 4
      local layer, spikes = context:layer(desc), synfire.array("f32", 24)
      layer:forward{ x = synfire.array("f32", x), spikes = spikes }
      local text = ""
      for i = 0, 23 do text = text .. spikes[i] end
      check.equal(text, fired, "spikes of " .. desc.model)
      for name, wanted in pairs(states) do
        local found = layer:read_state(name)
        for n = 0, 3 do check.equal(found[n], wanted[n + 1], desc.model .. " " .. name .. " " .. n) end
      end
    end
    expect({ model = "alif", reset = "soft", tau = 2, rho = 0.5, beta_a = 1 }, "001010010100101001010010",
           { v = { 0.953125, 1.4296875, 0.8125, 0.6953125 }, a = { 0.15625, 0.3125, 0.640625, 0.28125 } })
    expect({ model = "cuba_lif", tau = 4, tau_syn = 2, gain = 2, input_gain = 1 }, "000000101101101011010110",
           { v = { 0.6640625, 0, 0, 0.66015625 }, current = { 1.328125, 2.1796875, 2.40625, 1.3203125 } })
    expect({ model = "lif", reset = "soft_delayed", tau = 2 }, "001010010100101001010010",
           { v = { 0.703125, 0.9296875, 1.84375, 0.1953125 }, countdown = { 0, 0, 1, 0 } })
    -- Two channels, each with a threshold of its own. At step 4 a neuron is at its threshold and does not fire.
    expect({ model = "if", strict_threshold = true, refractory_steps = 2, v_threshold = { 1, 2.5 } },
           "001010010100001010000001", { v = { 0, 2, 0, 0 }, countdown = { 2, 0, 1, 3 } })
  end },
  { "maps that cannot be", function()
    local maps, large = context:network{ n_steps = 2 }, context:network{ n_steps = 2 }
    local function add(to, kind, name, values, inputs)
      to:add_stage{ kind = kind, name = name, values = values, inputs = inputs }
    end
    local function refused(rule, words, ...)
      local given = { ... }
      check.refused(rule, words, function() add(unpack(given)) end)
    end
    add(maps, "input", "x", { kind = "spikes", height = 3, width = 4, channels = 6 })
    refused("SYN-CONV-KERNEL", "a height of 3", maps, "conv2d", "y", { output_channels = 4, kernel = 5 })
    refused("SYN-CONV-GROUPS", "4", maps, "conv2d", "y", { output_channels = 4, groups = 4 })
    refused("SYN-POOL-WINDOW", "5", maps, "pool", "y", { kind = "sum", window = 5 })
    add(maps, "conv2d", "y", { output_channels = 4, kernel = 3 }) -- the name is still free
    refused("SYN-NETWORK-SHAPE", '[2, 1, 3x4x6] of stage "x" and [2, 1, 1x2x4] of stage "y"', maps, "sum", "z", {},
            { "x", "y" })
    check.refused("SYN-SYNAPSE-MASK", "10", function() maps:set_mask("y", ffi.new("uint8_t[10]")) end)
    add(large, "input", "x", { kind = "counts", bound = 255, height = 300, width = 300, channels = 1 })
    refused("SYN-POOL-BOUND", "2^24", large, "pool", "y", { kind = "sum" })
  end },
  -- V = (X + v_rest) / 2 with a v_rest for each channel. The loss is the mean of V^2 over four neurons, and a step of SGD
  -- takes off the sum of V / 4 over the places of a channel.
  { "parameters of channels", function()
    local network = context:network{ n_steps = 1 }
    network:add_stage{ kind = "input", name = "x", values = { kind = "values", height = 2, channels = 2 } }
    network:add_stage{ kind = "neurons", name = "v", inputs = "x", values = { model = "li", tau = 2 } }
    network:set_scope("v", "v_rest", "channel")
    network:train_parameter("v", "v_rest", false, 1, 0)
    network:add_stage{ kind = "readout", name = "out", inputs = { { stage = "v", port = "v" } }, values = { reduction = "last" } }
    network:add_loss("loss", "mean_squared_error"):add_optimizer("sgd", "sgd", 1):build()
    network:set_arrays("training", 1, { { stage = "x", role = "inputs", buffer = synfire.array("f32", { 1, 2, 3, 4 }) },
                                        { stage = "loss", role = "targets", buffer = synfire.array("f32", { 0, 0, 0, 0 }) } })
    check.equal(network:train(1).loss, 1.875, "the loss")
    same(network:get_layer("v"):get_parameter("v_rest"), { -0.5, -0.75 }, "one for each channel")
  end },
  { "an operation recorded and run now", function()
    local spikes = context:buffer{ dtype = "bits", shape = { 3, 2 }, values = { 1, 0, 3, 1, 0, 0 } }
    local counts, now = context:buffer{ dtype = "u32", n_elements = 1 }, context:buffer{ dtype = "u32", n_elements = 1 }
    context:count_spikes{ kind = "total", n_steps = 3, n_neurons = 33, spikes = spikes, counts = now }
    local graph = context:graph()
    check.equal(graph:count_spikes{ kind = "total", n_steps = 3, n_neurons = 33, spikes = spikes, counts = counts }, 0, "its number")
    check.equal(graph:fill{ buffer = spikes, value = 0 }, 1, "that of the next one")
    graph:instantiate()
    graph:wait(graph:launch(), 10, "block")
    check.equal(now:array()[0], 4, "now")
    check.equal(counts:array()[0], 4, "recorded")
    check.equal(graph:get_statistics().n_replays, 1, "replays")
    check.that(graph:write_dot():find("digraph", 1, true), "as DOT")
  end },
  { "gradients of parameters, a list of structures", function()
    local layer = context:layer{ n_steps = 4, n_neurons = 2 }
    local x, gradient = layer:sequence_buffer{ values = { 1, 2, 3, 4, 5, 6, 7, 8 } }, context:buffer{ n_elements = 1 }
    local ones = layer:sequence_buffer{ values = { 1, 1, 1, 1, 1, 1, 1, 1 } }
    layer:forward{ x = x, tape = "store" }
    layer:backward{ grad_v_seq = ones, parameter_gradients = { tau = gradient } }
    local first = gradient:array()[0]
    layer:forward{ x = x, tape = "store" }
    layer:reset_state()
    layer:forward{ x = x, tape = "store" }
    layer:backward{ grad_v_seq = ones, parameter_gradients = { { name = "tau", gradient = gradient } } }
    check.that(first ~= 0 and first == gradient:array()[0], "both ways to write it")
    local graph = context:graph()
    graph:update_parameter(layer, { name = "tau", gradient = gradient, learning_rate = 1e9, lower = 1.5, upper = 3 })
    graph:instantiate()
    graph:wait(graph:launch())
    check.that(layer:get_parameter("tau") == 1.5 or layer:get_parameter("tau") == 3, "a bound that was given counts")
  end },
  -- Two neurons that wake each other: a spike goes back and forth, also from one call to the next.
  { "a layer that reads its own spikes", function()
    local back = context:synapse{ n_inputs = 2, n_outputs = 2, no_self_connections = true }
    back:write("weight", { 1, 1, 1, 1 })
    local layer = context:layer{ model = "if", n_steps = 3, n_neurons = 2, history_steps = 1 }
    local x, spikes = context:buffer{ values = { 1, 0, 0, 0, 0, 0 } }, context:buffer{ n_elements = 6 }
    layer:forward{ x = x, recurrent_synapse = back, recurrent_delay = 1, spikes = spikes }
    same(spikes:to_table(), { 1, 0, 0, 1, 1, 0 }, "spikes")
    layer:backward{ grad_spike_seq = context:buffer{ values = { 1, 1, 1, 1, 1, 1 } } }
    local gradient = back:read("weight_gradient")
    check.that(gradient[0] == 0 and gradient[1] > 0 and gradient[2] > 0 and gradient[3] == 0, "gradients")
    x:fill(0)
    layer:forward{ x = x, recurrent_synapse = back, recurrent_delay = 1, spikes = spikes }
    same(spikes:to_table(), { 0, 1, 1, 0, 0, 1 }, "spikes of the next call")
  end },
  { "synapses and optimisers", function()
    local synapse = context:synapse{ input_kind = "values", n_inputs = 3, n_outputs = 2, bias = true }
    synapse:write("weight", { 1, 2, 3, 4, 5, 6 }):write("bias", ffi.new("float[2]", 10, 20))
    local y = context:buffer{ shape = { 1, 2 } }
    synapse:forward{ n_steps = 1, input = context:buffer{ values = { 1, 1, 1 } }, output = y }
    same(y:to_table(), { 16, 35 }, "W x + b")
    check.equal(synapse:get_info().kind, "dense", "its kind")
    local optimizer = context:optimizer{ kind = "sgd", learning_rate = 0.5 }
    optimizer:add_weights(synapse, 1, 0):add_bias(synapse, 1, 0)
    synapse:write("weight_gradient", { 2, 2, 2, 2, 2, 2 })
    optimizer:step{}
    same({ synapse:read("weight")[0], synapse:read("bias")[0] }, { 0, 10 }, "after a step")
    check.equal(tonumber(optimizer:read(nil, "step_count", ffi.new("uint64_t[1]"))[0]), 1, "steps")
    check.equal(context:synapse_conv2d{ channels = 1, output_channels = 2, height = 4, width = 4, kernel_height = 3, kernel_width = 3 }
      :get_info().kind, "conv2d", "another kind")
    check.that(synfire.synapse_memory{ n_inputs = 3, n_outputs = 2 }.weight_bytes >= 24, "memory before it is created")
  end },
  { "a network learns, and goes on from memory", function()
    local network = small_network()
    local rates, labels = data(9)
    network:set_data("training", 9, rates, labels)
    network:set_data("evaluation", 9, rates, labels)
    local first, last = network:train(3), network:train(60)
    check.that(last.loss < first.loss, "the loss falls")
    local file = network:save_to_memory()
    local again = context:network_from_memory(file, { inference = false })
    again:set_data("evaluation", 9, rates, labels)
    check.equal(again:evaluate().loss, network:evaluate().loss, "the loss of the loaded one")
    check.equal(again:evaluate().n_counted, 9, "all rows counted")
    -- Rows may stay in files, such as arrays of NumPy.
    local function npy(descr, shape, elements)
      local name = os.tmpname()
      os.remove(name)
      local path = name .. ".npy"
      local head = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"):format(descr, shape)
      local out = assert(io.open(path, "wb"))
      out:write("\147NUMPY\1\0\118\0", head, (" "):rep(118 - #head), ffi.string(elements, ffi.sizeof(elements)))
      out:close()
      return path
    end
    local files = { { role = "inputs", path = npy("<f4", "9, 7", ffi.new("float[63]", rates)) },
      { role = "labels", path = npy("<u4", "9,", ffi.new("uint32_t[9]", labels)) } }
    check.equal(again:open_data("evaluation", files):evaluate().loss, network:evaluate().loss, "the loss of rows in files")
    check.equal(tonumber(again:open_data("training", files, { block_rows = 2, window_blocks = 1 }):train(0).epoch),
      tonumber(again:train(0).epoch) - 1, "an epoch")
    for _, file in ipairs(files) do os.remove(file.path) end
    -- A program asks for arrays, monitors, and readouts that continue.
    local watched = context:network_from_memory(file, { keep = "hidden.v hidden.monitor", continues = true })
    check.that(watched:get_buffer("hidden.v") ~= nil, "an array is kept")
    check.equal(tonumber(watched:get_monitor("hidden", true).n_replays), 0, "replays of the monitor")
    check.equal(watched:get_value("out", "continues"), 1, "the readout continues")
    local twin = small_network()
    twin:load_from_memory(file)
    check.equal(twin:save_to_memory(), file, "the same bytes")
    local loaded = small_network():load_arrays_from_memory(file, { "first.weights", { theirs = "no", ours = "first.bias" } }, true)
    check.that(loaded[1].is_loaded == 1 and loaded[2].is_loaded == 0, "what was left out")
    local outputs = ffi.new("float[18]")
    network:infer(rates, 9, outputs)
    check.that((outputs[0] > outputs[1]) and (outputs[2] < outputs[3]), "the classes of two rows")
    check.equal(network:get_value("adam", "learning_rate"), 0.01, "a value")
    check.that(network:write_summary():find("hidden", 1, true) and network:write_dot():find("digraph", 1, true), "in words")
    check.that(network:query_memory().synapse_bytes > 0, "memory")
    local losses, whole = network:evaluate_stages{ "loss" }
    check.equal(losses[1].loss, whole.loss, "the loss of a stage")
  end },
  { "a loss of the program's own, and rows that begin anew", function()
    local network = small_network{ own_loss = "continues" }
    local forward, backward = network:get_graph("forward"), network:get_graph("backward")
    local input, output = network:get_buffer("input"):array(), network:get_buffer("output"):array()
    local gradient = network:get_buffer("out.gradient"):array()
    local function error_now()
      for i = 0, 20 do input[i] = 0.5 end
      forward:wait(forward:launch())
      local sum = 0
      for b = 0, 2 do
        for c = 0, 1 do
          gradient[2 * b + c] = output[2 * b + c] - 0.25
          sum = sum + gradient[2 * b + c] ^ 2
        end
      end
      backward:wait(backward:launch())
      return sum
    end
    local first = error_now()
    for _ = 1, 100 do error_now() end
    check.that(error_now() < 0.1 * first, "the error falls")
    local potential = network:get_layer("potential")
    network:reset_rows(1, 1)
    local v = potential:read_state("v")
    check.that(v[0] ~= 0 and v[2] == 0 and v[3] == 0 and v[4] ~= 0, "one row begins anew")
  end },
  { "slots", function()
    local layer = context:layer{ n_steps = 1, n_neurons = 2 }
    local x, v = layer:sequence_buffer{ memory = "pinned" }, layer:sequence_buffer{ memory = "pinned" }
    local graph = context:record(function(g) g:forward(layer, { x = x, v_seq = v }) end, { n_slots = 2 })
    graph:get_slot(x)[0] = 1
    local first = graph:launch()
    graph:get_slot(x)[0] = 0
    graph:wait(graph:launch())
    check.equal(graph:get_slot(v, first)[0], 0.5, "the frame of the first replay")
    check.that(graph:get_slot(v, first) == graph:get_slot(v, first), "the same array each time")
  end },
  { "a neuron of the program's own", function()
    local text = assert(io.open(os.getenv("SYNFIRE_OWN_NEURON"))):read("*a"):match('synaptic_lif = """\n(.-)"""')
    local model = context:load_model{ name = "synaptic_lif", text = text }
    local info = model:get_info()
    check.equal(info.n_parameters, 2, "its parameters")
    local layer = context:layer{ model = model, n_steps = 2, n_neurons = 3, tau_i = 3 }
    check.equal(layer:get_parameter("tau_i"), 3, "one of them")
    check.refused("LUA-TYPE", "a model; allowed: a surrogate", function()
      context:layer{ surrogate = model, n_steps = 2, n_neurons = 3 }
    end)
  end },
}
