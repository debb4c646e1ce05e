-- resume.lua - goes on with a training that another program has begun: luajit resume.lua FILE_IN FILE_OUT BATCHES [host | cuda]
--
-- The network of FILE_IN is trained for BATCHES steps and becomes FILE_OUT; bindings/programs/resume.c says more.
--
-- SPDX-License-Identifier: MIT
local ffi = require("ffi")
local synfire = require("synfire")

local n_inputs, n_classes, n_rows = 41, 3, 99

local rates, labels = ffi.new("float[?]", n_rows * n_inputs), {}
for r = 0, n_rows - 1 do
  labels[r + 1] = r % n_classes
  for k = 0, n_inputs - 1 do
    local i = r * n_inputs + k
    local noise = math.floor(0x9e3779b1 * i % 2 ^ 32 / 2 ^ 28)
    rates[i] = ((k % n_classes == r % n_classes and 20 or 12) + noise) / 128
  end
end

local file_in, file_out, batches, backend = ...
local context = synfire.context{ backend = backend == "cuda" and "cuda" or "host" }
local network = context:network_from_file(file_in)
network:set_data("training", n_rows, rates, labels)
local result = network:train(tonumber(batches))
network:save(file_out)
print(string.format("%d batches, loss %.9f", batches, result.loss))
