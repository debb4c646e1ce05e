-- policy.lua - a policy gradient: sixteen carts on a line learn to come to rest in the middle. The loss is the program's
-- own. It prints what docs/examples/policy.c prints.
--
-- SPDX-License-Identifier: MIT
local ffi = require("ffi")
local synfire = require("synfire")

local carts, ticks, episodes = 16, 24, 300

-- Numbers from 0 to 1, the same in every language.
local state = 1
local function drawn()
  state = (state * 1664525 + 1013904223) % 2 ^ 32
  return math.floor(state / 256) / 16777216
end

-- The probability of a push to the right, and its slope.
local function right(z)
  local size = 1 + math.abs(z)
  return 0.5 + 0.5 * (z / size), 0.5 / (size * size)
end

local function replay(graph) graph:wait(graph:launch()) end

local context = synfire.context()    -- a GPU if there is one, else the host
local network = context:network{ n_steps = 8, batch = carts, own_loss = "starts" }
network:add_stage{ kind = "input", name = "cart", values = { kind = "values", n_features = 2, n_steps = 1 } }
network:add_synapse("first", 32)
network:set_value("first", "gain", 3)
network:add_neurons("hidden", "lif")
network:add_synapse("second", 1)
network:add_neurons("potential", "li")
network:add_readout("push", "mean")
network:add_optimizer("adam", "adam", 0.003)
network:build()
local forward, backward = network:get_graph("forward"), network:get_graph("backward")
local input, output = network:get_buffer("input"):array(), network:get_buffer("output"):array()
local gradient = network:get_buffer("push.gradient"):array()

local function numbers() return ffi.new("double[?]", carts) end
local frames, pushes, rewards, baseline = {}, {}, {}, ffi.new("double[?]", ticks)
for t = 0, ticks - 1 do frames[t], pushes[t], rewards[t] = ffi.new("float[?]", 2 * carts), {}, numbers() end
local x, v, sum = numbers(), numbers(), 0
for episode = 1, episodes do
  for i = 0, carts - 1 do
    x[i] = 2 * drawn() - 1
    v[i] = drawn() - 0.5
  end
  for t = 0, ticks - 1 do
    for i = 0, carts - 1 do frames[t][2 * i], frames[t][2 * i + 1] = x[i], v[i] end
    ffi.copy(input, frames[t], ffi.sizeof(frames[t]))
    replay(forward)
    for i = 0, carts - 1 do
      pushes[t][i] = drawn() < right(output[i])
      v[i] = 0.95 * v[i] + (pushes[t][i] and 0.15 or -0.15)
      x[i] = x[i] + 0.2 * v[i]
      rewards[t][i] = -(x[i] * x[i])
      sum = sum + rewards[t][i]
    end
  end
  local following = numbers()    -- the reward of a push is all that follows it
  for t = ticks - 1, 0, -1 do
    local mean = 0
    for i = 0, carts - 1 do
      following[i] = rewards[t][i] + 0.8 * following[i]
      mean = mean + following[i] / carts
    end
    baseline[t] = episode == 1 and mean or 0.9 * baseline[t] + 0.1 * mean
    ffi.copy(input, frames[t], ffi.sizeof(frames[t]))
    replay(forward)
    for i = 0, carts - 1 do
      local p, slope = right(output[i])
      local of_push = pushes[t][i] and slope / p or -slope / (1 - p)
      gradient[i] = -(following[i] - baseline[t]) * of_push / carts
    end
    replay(backward)
  end
  if episode % 50 == 0 then
    print(string.format("episodes to %d: reward %.9f", episode, sum / (50 * ticks * carts)))
    sum = 0
  end
end
