-- Bad input: an error that names what was wrong and what is allowed, and nothing changed.
--
-- SPDX-License-Identifier: MIT
local ffi, check, synfire = require("ffi"), require("check"), require("synfire")

local context = synfire.context{ backend = "host", n_threads = 1 }
local layer = context:layer{ n_steps = 3, n_neurons = 4 }
local x = layer:sequence_buffer()
local graph = context:record(function(g) g:forward(layer, { x = x }) end)
local synapse = context:synapse{ n_inputs = 5, n_outputs = 2 }
local optimizer = context:optimizer{ kind = "adam" }
local network = context:network{ n_steps = 2, batch = 3 }
network:add_input("in", "rates", 4)
network:add_synapse("first", 2)
network:add_neurons("potential", "li")
network:add_readout("out", "mean")
network:add_loss("loss", "cross_entropy")
network:add_optimizer("sgd", "sgd", 0.1)
network:build()

-- A network with all steps of its schedule taken, and the file of another one.
local finished = context:network{ n_steps = 2, batch = 3 }
finished:add_input("in", "rates", 4):add_synapse("first", 2):add_neurons("potential", "lif")
finished:add_readout("out", "mean"):add_loss("loss", "cross_entropy"):add_optimizer("sgd", "sgd", 0.1)
finished:set_value("sgd", "schedule_steps", 1):set_value("sgd", "schedule", "cosine")
finished:build()
finished:set_data("training", 3, ffi.new("float[12]"), { 0, 1, 0 }):train(1)

local other = synfire.context{ backend = "host", n_threads = 1 }
local foreign = other:buffer{ n_elements = 12 }

local function closed(object)
  object:close()
  object:close() -- twice is fine
  check.that(object:is_closed() and tostring(object):find("closed"), "closed, in words")
  return object
end
local closed_context = closed(synfire.context{ backend = "host", n_threads = 1 })
local closed_layer = closed(context:layer{ n_steps = 3, n_neurons = 4 })
local closed_buffer, closed_graph = closed(layer:sequence_buffer()), closed(context:graph())

-- What is tried, the rule, and words of the text.
local mistakes = {
  -- Fields
  { "LUA-FIELD", "n_neuron (did you mean n_neurons?); allowed: model, n_steps", function() context:layer{ n_steps = 3, n_neuron = 4 } end },
  { "LUA-FIELD", "tua (did you mean tau?); allowed: model", function() context:layer{ n_steps = 3, n_neurons = 4, tua = 2 } end },
  { "LUA-FIELD", "spiks (did you mean spikes?)", function() layer:forward{ x = x, spiks = x } end },
  { "LUA-FIELD", "struct_size", function() layer:forward{ x = x, struct_size = 160 } end },
  { "LUA-FIELD", "backnd (did you mean backend?)", function() synfire.context{ backnd = "host" } end },
  { "LUA-MISSING", "layer has no n_steps", function() context:layer{ n_neurons = 4 } end },
  { "LUA-MISSING", "layer has no n_steps", function() context:layer() end },
  { "LUA-MISSING", "convert_spikes has no n_steps", function() context:convert_spikes{} end },
  { "LUA-MISSING", "add_synapse has no n_outputs", function() network:add_synapse("second") end },
  { "LUA-MISSING", "add_input has no name", function() network:add_input() end },
  { "LUA-TYPE", "layer = 3; allowed: a table of fields", function() context:layer(3) end },
  { "LUA-TYPE", "layer = a buffer; allowed: a table of fields", function() context:layer(x) end },
  { "LUA-TYPE", "copy takes one table of fields", function() graph:copy(x, x) end },
  { "LUA-TYPE", "build takes 0 arguments, not 1", function() network:build(1) end },
  -- Names
  { "LUA-NAME", 'layer.model = "lfi" (did you mean lif?); allowed: default, if, lif', function() context:layer{ n_steps = 3, n_neurons = 4, model = "lfi" } end },
  { "LUA-NAME", "(did you mean sigmoid?)", function() context:layer{ n_steps = 3, n_neurons = 4, surrogate = "SIGMOD" } end },
  { "LUA-NAME", "allowed: device, pinned, host, transient", function() context:buffer{ n_elements = 4, memory = "disk" } end },
  { "LUA-NAME", 'policy = "spn" (did you mean spin?)', function() graph:wait(0, 1, "spn") end },
  { "LUA-NAME", 'surrogate = "nope"', function() network:set_value("potential", "surrogate", "nope") end },
  { "LUA-NAME", 'kind = "bytes"', function() network:add_input("more", "bytes", 3) end },
  { "LUA-NAME", "a name of an element type", function() synfire.array("f31", 4) end },
  { "LUA-TEXT", "null character", function() layer:get_parameter("t\0au") end },
  { "LUA-TYPE", "name = nil; allowed: a string", function() layer:get_parameter() end },
  { "SYN-PARAMETER-NAME", "nope", function() layer:set_parameter("nope", 1) end },
  { "SYN-NETWORK-STAGE", "nope", function() network:get_synapse("nope") end },
  -- Numbers
  { "LUA-TYPE", 'layer.n_steps = "3"; allowed: a number', function() context:layer{ n_steps = "3", n_neurons = 4 } end },
  { "LUA-RANGE", "layer.n_steps = 2.5; allowed: integers", function() context:layer{ n_steps = 2.5, n_neurons = 4 } end },
  { "LUA-RANGE", "context.n_threads = 2147483648", function() synfire.context{ n_threads = 2 ^ 31 } end },
  { "LUA-RANGE", "buffer.n_elements = -1", function() context:buffer{ n_elements = -1 } end },
  { "LUA-RANGE", "nan", function() context:layer{ n_steps = 0 / 0, n_neurons = 4 } end },
  { "LUA-RANGE", "uint64_t", function() context:encode_bernoulli{ n_steps = 1, n_neurons = 1, rates = x, spikes = x, seed = -1LL } end },
  { "LUA-TYPE", "seconds = nan", function() graph:wait(0, 0 / 0) end },
  { "LUA-TYPE", "ticket = nil; allowed: what launch() returned", function() graph:wait() end },
  { "LUA-TYPE", "value = a table", function() graph:set_value(0, "scale", {}) end },
  { "LUA-TYPE", "enabled = 1; allowed: true or false", function() graph:set_enabled(0, 1) end },
  { "SYN-PARAMETER-RANGE", "-1", function() layer:set_parameters{ tau = -1 } end },
  { "SYN-LAYER-NEURONS", "0", function() context:layer{ n_steps = 3, n_neurons = 0 } end },
  { "SYN-CONTEXT-BACKEND", "9", function() synfire.context{ backend = 9 } end },
  -- Arrays
  { "LUA-LENGTH", "values has 3 elements; allowed: 4", function() context:buffer{ n_elements = 4, values = { 1, 2, 3 } } end },
  { "LUA-LENGTH", "5 values from element 8 on; allowed: at most the 12", function() x:upload({ 1, 2, 3, 4, 5 }, 8) end },
  { "LUA-LENGTH", "array has 11 elements; allowed: 12", function() x:download(ffi.new("float[11]")) end },
  { "LUA-LENGTH", "values has 9 elements; allowed: 10", function() synapse:write("weight", ffi.new("float[9]")) end },
  { "LUA-LENGTH", "values has 5 elements; allowed: 4", function() layer:write_state("v", { 1, 2, 3, 4, 5 }) end },
  { "LUA-LENGTH", "5 numbers; allowed: at most 4", function() context:buffer{ shape = { 1, 1, 1, 1, 4 } } end },
  { "LUA-TYPE", "an array of double; allowed: a table of numbers, or an FFI array of float", function() x:upload(ffi.new("double[12]")) end },
  { "LUA-TYPE", "a pointer has no length", function() x:upload(ffi.cast("float *", ffi.new("float[12]"))) end },
  { "LUA-TYPE", 'values[2] = "two"; allowed: a number', function() x:upload({ 1, "two" }) end },
  { "LUA-TYPE", 'the key "n"; allowed: a table of numbers', function() x:upload({ 1, 2, n = 2 }) end },
  { "LUA-TYPE", "array = an array of int32_t; allowed: an FFI array of float", function() x:download(ffi.new("int32_t[12]")) end },
  { "LUA-TYPE", "an array of double; allowed: one of float", function() context:buffer{ borrow = ffi.new("double[4]"), dtype = "f32" } end },
  { "LUA-FIELD", "values and borrow", function() context:buffer{ borrow = ffi.new("float[4]"), values = { 1 } } end },
  { "LUA-TYPE", "an FFI array of uint16_t", function() context:buffer{ dtype = "f16", values = { 1, 2 } } end },
  { "LUA-RANGE", "values[1] = 256; allowed: integers from 0 to 255", function() context:buffer{ dtype = "u8", values = { 256 } } end },
  { "SYN-BUFFER-SIZE", "11", function() layer:forward{ x = ffi.new("float[11]") } end },
  { "SYN-BUFFER-SHAPE", "[4, 3]", function() layer:forward{ x = context:buffer{ shape = { 4, 3 } } } end },
  { "LUA-LENGTH", "labels has 4 numbers; allowed: as many for each of 3 rows", function() network:set_data("training", 3, ffi.new("float[12]"), { 0, 1, 0, 1 }) end },
  { "LUA-LENGTH", "inputs has 15 numbers; allowed: 12, 4 for each of 3 rows", function() network:set_data("training", 3, ffi.new("float[15]"), { 0, 1, 0 }) end },
  { "SYN-BUFFER-SIZE", "9 elements", function() network:set_data("training", 3, context:buffer{ n_elements = 9 }, { 0, 1, 0 }) end },
  { "SYN-NETWORK-LABEL", "7", function() network:set_data("training", 3, ffi.new("float[12]"), { 0, 1, 7 }) end },
  { "LUA-TYPE", "context.device = true; allowed: a number", function() synfire.context{ device = true } end },
  -- Objects
  { "LUA-TYPE", "forward.x = a layer; allowed: a buffer", function() layer:forward{ x = layer } end },
  { "LUA-TYPE", "forward's layer = a buffer; allowed: a layer", function() context:graph():forward(x, { x = x }) end },
  { "LUA-TYPE", "forward's layer = a table; allowed: a layer", function() context:graph():forward({ x = x }) end },
  { "LUA-TYPE", "synapse = a layer; allowed: a synapse", function() optimizer:add_weights(layer, 1, 1) end },
  { "LUA-TYPE", "graph = nil; allowed: a graph", function() graph.wait(nil, 1) end },
  { "LUA-TYPE", "stream = 8; allowed: a pointer", function() graph:launch(8) end },
  { "SYN-STREAM-HOST", "", function() graph:launch(ffi.cast("synfire_stream", 8)) end },
  { "SYN-HANDLE-FOREIGN", "desc.x", function() layer:forward{ x = foreign } end },
  -- Callbacks
  { "LUA-CALLBACK", "native.callback is a Lua function", function() context:graph():native{ callback = function() return 0 end } end },
  { "LUA-CALLBACK", "context.enqueue_task is a Lua function", function() synfire.context{ enqueue_task = print, finish_task = print } end },
  { "LUA-CALLBACK", "buffer.release is a Lua function", function() context:buffer{ n_elements = 4, release = print } end },
  -- Closed
  { "LUA-CLOSED", "context is a context that was closed", function() closed_context:layer{ n_steps = 3, n_neurons = 4 } end },
  { "LUA-CLOSED", "context is a context", function() closed_context:buffer{ n_elements = 4 } end },
  { "LUA-CLOSED", "context is a context", function() closed_context:synchronize() end },
  { "LUA-CLOSED", "layer is a layer", function() closed_layer:forward{ x = x } end },
  { "LUA-CLOSED", "layer is a layer", function() closed_layer:get_parameter("tau") end },
  { "LUA-CLOSED", "layer is a layer", function() closed_layer:read_state("v") end },
  { "LUA-CLOSED", "forward.x is a buffer", function() layer:forward{ x = closed_buffer } end },
  { "LUA-CLOSED", "buffer is a buffer", function() closed_buffer:array() end },
  { "LUA-CLOSED", "buffer is a buffer", function() closed_buffer:upload{ 1 } end },
  { "LUA-CLOSED", "graph is a graph", function() closed_graph:launch() end },
  { "LUA-CLOSED", "graph is a graph", function() closed_graph:wait(1) end },
  { "LUA-CLOSED", "graph is a graph", function() closed_graph:forward(layer, { x = x }) end },
  -- Order
  { "SYN-GRAPH-EMPTY", "", function() context:graph():instantiate() end },
  { "SYN-GRAPH-NOT-INSTANTIATED", "", function() context:graph():launch() end },
  { "SYN-GRAPH-TICKET", "1000", function() graph:wait(1000) end },
  { "SYN-TAPE-NONE", "", function() context:layer{ n_steps = 3, n_neurons = 4 }:backward{ grad_x_seq = x } end },
  { "SYN-NETWORK-NO-DATA", "", function() network:train(1) end },
  { "LUA-LOADED", "the library was loaded before", function() synfire.load("/elsewhere") end },
  -- Files
  { "LUA-TYPE", "file = 7; allowed: a string of bytes", function() network:load_from_memory(7) end },
  { "SYN-FILE-OPEN", "/no/such/file", function() context:network_from_file("/no/such/file") end },
  { "SYN-FILE-LENGTH", "", function() network:load_from_memory("no network") end },
  { "SYN-SNAPSHOT-DAMAGED", "", function() layer:restore("no snapshot") end },
  { "LUA-TYPE", "file = 7; allowed: a string of bytes", function() network:load_arrays_from_memory(7, { "first.bias" }) end },
  { "SYN-FILE-LENGTH", "", function() network:load_arrays_from_memory("no file", { "first.bias" }) end },
  { "SYN-FILE-OPEN", "/no/such/file", function() network:load_arrays("/no/such/file", { "first.bias" }) end },
  { "SYN-NETWORK-ARRAY", 'did you mean "first.bias"', function() network:load_arrays_from_memory(network:save_to_memory(), { "first.bios" }) end },
  { "SYN-FILE-TENSOR", 'did you mean "first.bias"', function()
    network:load_arrays_from_memory(network:save_to_memory(), { { theirs = "first.bios", ours = "first.bias" } })
  end },
  { "SYN-FILE-SHAPE", "[2, 4]", function()
    network:load_arrays_from_memory(network:save_to_memory(), { ["first.weights"] = "first.bias" })
  end },
  { "SYN-NETWORK-LAYOUT", '"oi"', function()
    network:load_arrays_from_memory(network:save_to_memory(), { { theirs = "first.weights", layout = "io" } })
  end },
  { "LUA-FIELD", "our (did you mean ours?)", function()
    network:load_arrays_from_memory(network:save_to_memory(), { { theirs = "first.weights", our = "first.weights" } })
  end },
  { "SYN-NETWORK-SCHEDULE", "schedule_steps", function() network:set_value("sgd", "schedule", "cosine") end },
  { "SYN-NETWORK-SCHEDULE", "1 were taken", function() finished:train(1) end },
  { "SYN-NETWORK-OTHER", "potential", function() network:load_from_memory(finished:save_to_memory()) end },
  { "SYN-FILE-DTYPE", "U64", function()
    network:load_arrays_from_memory(network:save_to_memory(), { ["sgd.step_count"] = "first.bias" })
  end },
  { "SYN-NETWORK-NOT-KEPT", "before it is built", function() finished:get_buffer("potential.counts") end },
  { "SYN-NETWORK-NOT-KEPT", "potential.monitor", function() finished:get_monitor("potential") end },
  { "SYN-NETWORK-KEEP", 'did you mean "potential.spikes"', function()
    context:network_from_memory(finished:save_to_memory(), { keep = "potential.spike" })
  end },
  { "SYN-OPTIMIZER-MEMBER", "0 members", function() optimizer:set_factors(0, 1, 1, 0) end },
}

return {
  { "each mistake is named", function()
    local before, n = layer:snapshot(), 0
    for i, mistake in ipairs(mistakes) do
      local rule, words, f = unpack(mistake)
      local ok, problem = pcall(check.refused, rule, words, f)
      if not ok then error("mistake " .. i .. ": " .. tostring(problem), 0) end
      n = n + 1
    end
    check.that(n >= 50, "at least 50 mistakes")
    print(n .. " mistakes were named")
    check.equal(layer:get_parameter("tau"), 2, "tau is as before")
    check.equal(layer:snapshot(), before, "the state is as before")
    check.that(graph:wait(graph:launch()), "a replay afterwards")
  end },
  { "what an error carries", function()
    local problem = check.refused("SYN-PARAMETER-RANGE", "tau", function() layer:set_parameter("tau", -1) end)
    check.equal(problem.status, "error_invalid_argument", "its status")
    check.equal(problem.cuda_error, 0, "its CUDA error")
    local text = tostring(problem)
    check.that(text:find("mistakes.lua:%d+: error_invalid_argument %[SYN%-PARAMETER%-RANGE%]: "), "in words: " .. text)
    check.that(("" .. problem) == text, "joined with a string")
    check.equal(synfire.status_name(-8), "SYNFIRE_ERROR_STALE_TAPE", "a name of C")
    check.equal(synfire.status_name(12345), "SYNFIRE_UNKNOWN_STATUS", "an unknown status")
  end },
  { "what the program throws while recording comes out as it was", function()
    local own = {}
    local ok, problem = pcall(context.record, context, function(g)
      g:forward(layer, { x = x })
      error(own)
    end)
    check.that(not ok and problem == own, "the same table")
    check.that(graph:wait(graph:launch()), "a replay afterwards")
  end },
  { "the library refuses a handle that was destroyed behind the back", function()
    local behind = context:layer{ n_steps = 3, n_neurons = 4 }
    synfire.raw().synfire_layer_destroy(synfire.raw(behind))
    check.that(not pcall(behind.get_parameter, behind, "tau"), "refused")
    check.equal(synfire.raw().synfire_graph_launch(nil, nil, nil), -2, "a null graph through the raw layer")
  end },
}
