-- brain.lua - one spiking network for all creatures: each is a row of the batch, and one replay a frame serves all of them.
--
-- What a creature sees goes in, 16 rays with 4 kinds each; 16 potentials come out, one for each direction. The state of the
-- neurons continues from frame to frame.
--
-- SPDX-License-Identifier: MIT
local synfire = require("synfire")
local World = require("world")

local Brain = { n_hidden = 64, n_steps = 4 }
Brain.__index = Brain

function Brain.new(fields)
  local brain = setmetatable({}, Brain)
  brain.context = synfire.context(fields)
  -- [network]
  local network = brain.context:network{ n_steps = Brain.n_steps, batch = World.n_creatures, seed = 1, own_loss = "continues" }
  network:add_stage{ kind = "input", name = "rays",
                     values = { kind = "values", n_features = World.n_rays * World.n_kinds, n_steps = 1 } }
  network:add_synapse("first", Brain.n_hidden):add_neurons("hidden", "lif")
  network:add_synapse("second", World.n_rays):add_neurons("potential", "li")
  network:add_readout("direction", "mean"):add_loss("teacher", "cross_entropy")
  network:add_optimizer("adam", "adam", 0.002):build()
  brain.forward, brain.backward = network:get_graph("forward"), network:get_graph("backward")
  brain.inputs, brain.potentials = network:get_buffer("input"):array(), network:get_buffer("output"):array()
  brain.labels = network:get_buffer("teacher.labels"):array()
  -- [network]
  brain.network, brain.spikes = network, network:get_buffer("hidden.spikes")
  return brain
end

-- One replay: from what all creatures see to the direction of each.
function Brain:act(directions)
  -- [act]
  self.forward:wait(self.forward:launch())
  for i = 0, World.n_creatures - 1 do
    local best, most = 0, self.potentials[i * World.n_rays]
    for ray = 1, World.n_rays - 1 do
      local potential = self.potentials[i * World.n_rays + ray]
      if potential > most then best, most = ray, potential end
    end
    directions[i] = best
  end
  -- [act]
end

-- A second replay: towards what the teacher would have done.
function Brain:learn(directions)
  -- [learn]
  for i = 0, World.n_creatures - 1 do self.labels[i] = directions[i] end
  self.backward:wait(self.backward:launch())
  -- [learn]
end

-- Rows of creatures that were just born begin anew.
function Brain:forget(born)
  for i = 0, World.n_creatures - 1 do
    if born[i] ~= 0 then self.network:reset_rows(i, 1) end
  end
end

return Brain
