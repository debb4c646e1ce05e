-- Objects that are closed or collected in any order, arrays that outlive them, and no garbage in a frame.
--
-- SPDX-License-Identifier: MIT
local ffi, check, synfire = require("ffi"), require("check"), require("synfire")

local function collect()
  for _ = 1, 4 do collectgarbage() end
end

-- The number of queued objects after everything that can be freed was freed.
local function reclaimed(context)
  collect()
  return context:reclaim()
end

local function small(context)
  local layer = context:layer{ n_steps = 3, n_neurons = 5 }
  local x, spikes = layer:sequence_buffer{ memory = "pinned" }, layer:spike_buffer{ memory = "pinned" }
  local graph = context:record(function(g) g:forward(layer, { x = x, spikes = spikes }) end)
  return { context = context, layer = layer, x = x, spikes = spikes, graph = graph }
end

-- Bytes of garbage that n calls make, with the collector stopped.
local function garbage(n, f)
  for _ = 1, 2000 do f() end
  collect()
  collectgarbage("stop")
  local before = collectgarbage("count")
  for _ = 1, n do f() end
  local after = collectgarbage("count")
  collectgarbage("restart")
  return (after - before) * 1024
end

local function replays(context)
  local made = small(context)
  local graph, input, output, sum = made.graph, made.x:array(), made.spikes:array(), 0
  return function()
    input[0] = 1.5
    graph:wait(graph:launch(), 1)
    sum = sum + output[0]
    graph:poll(0 + graph:launch())
  end
end

return {
  { "any order of closing", function()
    for _, order in ipairs({ { "context", "layer", "x", "spikes", "graph" }, { "graph", "x", "spikes", "layer", "context" },
                             { "layer", "context", "graph", "spikes", "x" } }) do
      local made = small(synfire.context{ backend = "host", n_threads = 1 })
      for _, name in ipairs(order) do made[name]:close() end
    end
  end },
  { "a graph runs without the objects that it uses", function()
    local made = small(synfire.context{ backend = "host", n_threads = 1 })
    made.layer:close()
    made.x:close()
    made.context:close()
    check.that(made.graph:wait(made.graph:launch()), "a replay")
  end },
  { "what is collected is freed", function()
    local context = synfire.context{ backend = "host", n_threads = 1 }
    for _ = 1, 200 do small(context) end
    check.equal(reclaimed(context), 0, "queued objects")
  end },
  { "an array outlives its buffer", function()
    local context = synfire.context{ backend = "host", n_threads = 1 }
    local array
    do
      local buffer = context:buffer{ n_elements = 100000, values = (function()
        local values = {}
        for i = 1, 100000 do values[i] = i end
        return values
      end)() }
      array = buffer:array()
      check.that(buffer:array() == array, "the same array each time")
      buffer:close()
      context:close()
    end
    collect()
    local again = synfire.context{ backend = "host", n_threads = 1 }
    check.equal(again:reclaim(), 0, "queued objects")
    check.equal(array[99999], 100000, "the last element")
    array[0] = 7
    check.equal(array[0], 7, "a write")
  end },
  { "a borrowed array stays until nothing needs it", function()
    local context = synfire.context{ backend = "host", n_threads = 1 }
    local layer = context:layer{ n_steps = 3, n_neurons = 5 }
    local graph, weak = nil, setmetatable({}, { __mode = "v" })
    do
      local array = ffi.new("float[15]", 1.5)
      weak[1] = array
      graph = context:record(function(g) g:forward(layer, { x = array }) end)
    end
    collect()
    check.equal(synfire.n_lent(), 1, "one array is lent")
    check.that(weak[1] ~= nil, "it is kept")
    check.that(graph:wait(graph:launch()), "a replay that reads it")
    graph:close()
    layer:close()
    check.equal(reclaimed(context), 0, "queued objects")
    check.equal(synfire.n_lent(), 0, "no array is lent")
    collect()
    check.that(weak[1] == nil, "it was collected")
    layer = context:layer{ n_steps = 3, n_neurons = 5 }
    local v = ffi.new("float[15]")
    layer:forward{ x = ffi.new("float[15]", 0.5), v_seq = v }
    check.equal(v[0], 0.25, "an eager call writes an FFI array")
  end },
  { "no garbage in 100,000 replays, compiled", function()
    local bytes = garbage(50000, replays(synfire.context{ backend = "host", n_threads = 1 }))
    print("100,000 replays: " .. bytes .. " bytes of garbage")
    check.that(bytes < 16 * 1024, "less than 16 KiB: " .. bytes)
  end },
  { "no garbage in 100,000 replays, interpreted", function()
    jit.off()
    local bytes = garbage(50000, replays(synfire.context{ backend = "host", n_threads = 1 }))
    jit.on()
    print("100,000 replays: " .. bytes .. " bytes of garbage")
    check.that(bytes < 16 * 1024, "less than 16 KiB: " .. bytes)
  end },
  { "a value that changes in each frame makes none either", function()
    local context = synfire.context{ backend = "host", n_threads = 1 }
    local a, b = context:buffer{ n_elements = 3, values = { 1, 2, 3 } }, context:buffer{ n_elements = 3 }
    local number
    local graph = context:record(function(g) number = g:scale_add{ source = a, destination = b, scale = 2, keep = 0 } end)
    local scale = 0
    local bytes = garbage(20000, function()
      scale = scale + 1
      graph:set_value(number, "scale", scale)
      graph:set_enabled(number, true)
      graph:wait(graph:launch(), nil, "yield")
    end)
    check.equal(b:to_table()[3], 3 * 22000, "the last scale")
    check.that(bytes < 16 * 1024, "less than 16 KiB: " .. bytes)
  end },
  { "a library that was loaded again shares the types", function()
    local first = package.loaded.synfire
    package.loaded.synfire = nil
    local second = require("synfire")
    check.that(second ~= first, "another copy")
    local made = small(second.context{ backend = "host", n_threads = 1 })
    check.that(made.graph:wait(made.graph:launch()), "a replay")
    package.loaded.synfire = first
  end },
  { "functions of C may call back", function()
    local context = synfire.context{ backend = "host", n_threads = 1 }
    local buffer, n = context:buffer{ n_elements = 2 }, 0
    -- On this thread, and from calls that LuaJIT does not compile.
    local callback = ffi.cast("synfire_native_callback", function(_, made)
      n = n + 1
      ffi.cast("float *", made.writes[0].data)[0] = n
      return 0
    end)
    local graph = context:record(function(g) g:native{ callback = callback, writes = { buffer }, name = "count" } end)
    for _ = 1, 300 do graph:wait(graph:launch()) end
    check.equal(n, 300, "calls")
    check.equal(buffer:array()[0], 300, "what the last one wrote")
    graph:close()
    reclaimed(context)
    callback:free()
  end },
}
