-- The programs print and write what their twins in C do.
--
-- SPDX-License-Identifier: MIT
local check = require("check")

local folder = (arg[0]:match("^(.*[/\\])") or "./") .. "../"
local programs = os.getenv("SYNFIRE_PROGRAMS")

local function example(name)
  return check.output(string.format("LUA_PATH='%s?.lua;;' %s %sexamples/%s.lua", folder, os.getenv("SYNFIRE_LUAJIT"), folder, name))
end

local function contents(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  os.remove(path)
  return text
end

local function is_equal(name)
  return { name, function()
    local ours, good = example(name)
    local theirs = check.output(programs .. "/" .. name)
    check.that(good, name .. " ends well: " .. ours)
    check.equal(ours, theirs, "what " .. name .. " prints")
  end }
end

-- Both write the same file too.
local function is_equal_with_file(name, path)
  return { name, function()
    local ours, good = example(name)
    check.that(good, name .. " ends well: " .. ours)
    local file = contents(path)
    check.equal(ours, check.output(programs .. "/" .. name), "what " .. name .. " prints")
    check.that(contents(path) == file, "the same file")
  end }
end

-- The last line; the others say how far it is.
local function last_of(text)
  return text:match("([^\n]*)\n$")
end

return {
  -- On the host a replay is done when launch() returns, so no frame is late, however slow the machine is.
  is_equal("quickstart"), is_equal("senses"), is_equal("pictures"), is_equal("policy"),
  is_equal_with_file("network", "network.safetensors"), is_equal_with_file("tuning", "body.safetensors"),
  -- Without mpirun there is one rank.
  { "ranks", function()
    local ours, good = example("ranks")
    check.that(good, "ranks ends well: " .. ours)
    local alone = ours:match("\nalone: ([^\n]*)\n$")
    check.equal(ours, "rank 0 of 1: " .. tostring(alone) .. "\nalone: " .. tostring(alone) .. "\n", "what ranks prints")
  end },
  { "watch", function()
    local ours, good = example("watch")
    check.that(good, "watch ends well: " .. ours)
    check.equal(last_of(ours), last_of(check.output(programs .. "/watch")), "what watch prints")
    for _, picture in ipairs{ "curves", "spikes", "confusion" } do os.remove(picture .. ".svg") end
  end },
}
