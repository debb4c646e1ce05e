-- What growth.py adds to the header, through the binding that it makes of it: an object, its operation, its functions.
--
-- SPDX-License-Identifier: MIT
local ffi, check, synfire = require("ffi"), require("check"), require("synfire")

local context = synfire.context{ backend = "host", n_threads = 1 }
local function pair() return context:buffer{ memory = "pinned", n_elements = 2 } end
local layer, other = context:layer{ n_steps = 1, n_neurons = 2 }, context:layer{ n_steps = 1, n_neurons = 2 }

return {
  { "an object and its operation", function()
    local x, memory, y = pair(), pair(), pair()
    check.refused("LUA-MISSING", "delay_line has no n_taps", function() context:delay_line{ source = layer, first = x } end)
    local first = context:delay_line{ source = layer, first = x, n_taps = 1 }
    local line = context:delay_line{ source = layer, first = x, n_taps = 3, interpolation = "linear", closed = true,
                                     memory = memory, previous = first, delays = { 1, 2 } }
    local taps = line:get_taps(3)
    check.equal(table.concat(taps, " "), "0 2 4", "a list that C fills in")
    line:set_gain(0.5):set_taps{ { name = "gain", values = { 1, 4 } }, { name = "other", values = {} } }
    local state = line:query()
    check.equal(state.peak, 4, "a number")
    check.equal(state.interpolation, "linear", "a name")
    check.that(state.empty == true and state.used[1] == 2 and state.used[2] == 3, "a flag and an array")
    check.equal(state.place .. " " .. state.type, "given delay", "texts")
    local interpolation, index = line:find("four", true)
    check.equal(interpolation .. " " .. index, "linear 104", "two results")
    check.equal(line:describe("tap") .. first:describe("tap"), "tap", "a text that C gives")
    check.that(not pcall(line.describe, line, "nothing"), "a refusal")
    line:delay{ x = y, other = first }
    check.equal(y:array()[1], 4, "an operation now")
    line:drain(y, first)
    check.equal(y:array()[0], -4, "a function of objects")
    line:set_gain(8)
    local graph = context:record(function(g) check.equal(g:delay(line, { x = y }), 0, "its number") end)
    graph:wait(graph:launch())
    check.equal(y:array()[0], 8, "a replay")
    line:close()
    check.refused("LUA-CLOSED", "delay_line", function() line:query() end)
  end },
  { "functions of objects that are there", function()
    local x, keys = pair(), pair()
    check.equal(layer:get_mean(), 0.25, "a result")
    layer:replace({ layer, other })
    local value, index = x:get_largest()
    check.equal(value + index, 7, "two results")
    x:sort(keys)
    context:set_name("one")
    check.that(not pcall(context.set_name, context), "a text that is left out")
    local graph = context:graph()
    local number = graph:fill{ buffer = x, value = 1 }
    graph:instantiate()
    check.equal(graph:get_runs(number), 7, "a number in, a number out")
    local text, n = graph:write_names()
    check.equal(text .. n, "fill, delay2", "a text and a number")
    graph:set_line(number, context:delay_line{ source = layer, first = keys, n_taps = 1 })
  end },
  { "a pass over addresses", function()
    local from, to = ffi.new("float[2]", 1, 5), ffi.new("float[1]")
    layer:touch{ x = from, y = to, negative = true }
    check.equal(to[0], -5, "what it wrote")
    check.that(not pcall(layer.touch, layer, { x = from }), "a refusal")
    check.refused("LUA-TYPE", "touch.x = 3; allowed: a pointer", function() layer:touch{ x = 3 } end)
  end },
  { "what compiles, and is refused by the library", function()
    local spikes, rates = pair(), pair()
    local function refused(f) check.that(not pcall(f), "refused") end
    refused(function()
      context:decode_rate{ spikes = spikes, rates = rates, n_steps = 20, window = "decaying", extras = { "count", "last" } }
    end)
    refused(function()
      layer:mix{ other = other, state = "v", parts = { { name = "one", rates = rates, weight = 0.5 } }, inputs = { rates },
                 weights = { 1 }, lengths = { 1, 2 } }
    end)
    check.refused("LUA-NAME", "(did you mean decaying?)", function()
      context:decode_rate{ spikes = spikes, rates = rates, n_steps = 20, window = "decayng" }
    end)
  end },
}
