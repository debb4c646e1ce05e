-- pictures.lua - convolutions tell four shapes apart, which are drawn at any place. It prints what
-- docs/examples/pictures.c prints.
--
-- SPDX-License-Identifier: MIT
local synfire = require("synfire")

local function mixed(k) return math.floor((k + 1) * 2654435761 % 2 ^ 32 / 2 ^ 16) end

-- A bar, a column, a frame or a cross of 7 x 7 pixels, and noise.
local function pixel(i)
  local row, place = math.floor(i / 144), i % 144
  local y, x = math.floor(place / 12) - mixed(row) % 6, place % 12 - mixed(3 * row) % 6
  local drawn = ({ y == 3, x == 3, y % 6 == 0 or x % 6 == 0, x == y or x + y == 6 })[row % 4 + 1]
  local inside = x >= 0 and x < 7 and y >= 0 and y < 7
  return ((inside and drawn and 160 or 0) + mixed(i) % 64) / 256
end

local network = synfire.context():network{ n_steps = 10, batch = 32 }    -- a GPU if there is one, else the host
local function stage(kind, name, values) network:add_stage{ kind = kind, name = name, values = values } end
stage("input", "in", { kind = "rates", height = 12, width = 12, channels = 1 })
for i = 1, 2 do
  if i == 2 then stage("pool", "largest", { kind = "max", window = 2 }) end
  stage("conv2d", "conv" .. i, { output_channels = 12, kernel = 3 })
  stage("normalization", "norm" .. i)
  network:add_neurons("lif" .. i, "lif")
end
network:add_synapse("to-shapes", 4):add_neurons("v", "li"):add_readout("scores", "mean")
network:add_loss("loss", "cross_entropy"):add_optimizer("adam", "adam", 0.01):build()
for first, data in pairs{ [0] = "training", [256] = "evaluation" } do
  local pictures, shapes = synfire.array("f32", 256 * 144), {}
  for i = 0, 256 * 144 - 1 do pictures[i] = pixel(first * 144 + i) end
  for row = 0, 255 do shapes[row + 1] = row % 4 end
  network:set_data(data, 256, pictures, shapes)
end
for i = 1, 6 do
  local result = i < 6 and network:train(24) or network:evaluate()
  print(string.format("%s: loss %.9f, accuracy %.4f", i < 6 and "train" or "test", result.loss,
                      result.n_correct / result.n_counted))
end
