-- Where the C library comes from: what is said when it is missing, of another version, or no library at all.
--
-- SPDX-License-Identifier: MIT
local check, synfire = require("check"), require("synfire")

local real = synfire.load()
local folder = arg[0]:match("^(.*[/\\])") or "./"

-- What a program of its own prints that loads the library from `where`.
local function attempt(where, more)
  local program = "local s = require('synfire') local ok, e = pcall(s.context, { backend = 'host' }) " ..
      "print(ok and 'worked: ' .. s.load() or tostring(e))"
  local output = check.output(string.format("%s SYNFIRE_LIBRARY='%s' LUA_PATH='%s../?.lua;;' %s -e \"%s\"", more or "", where, folder,
                                            os.getenv("SYNFIRE_LUAJIT"), program))
  return output
end

local function says(output, words)
  check.that(output:find(words, 1, true), words .. " in: " .. output)
end

return {
  { "a file or a folder", function()
    says(attempt(real), "worked: " .. real)
    says(attempt(real:match("^(.*)/")), "worked: ")
  end },
  { "nothing there", function()
    local output = attempt("/no/such/libsynfire0.so")
    says(output, "could not be loaded")
    says(output, "/no/such/libsynfire0.so")
    says(output, "so nothing else was tried")
    says(attempt(folder), folder .. "/libsynfire0.so.0")
  end },
  { "the system's loader", function()
    local output = attempt("")
    check.that(output:find("worked: ", 1, true) or output:find("is not set", 1, true), output)
    says(attempt("", "LD_LIBRARY_PATH=" .. real:match("^(.*)/")), "worked: libsynfire0.so.0")
  end },
  { "another library", function()
    for kind, words in pairs({ newer_major = "has ABI 99.0; this file needs", older_minor = "; this file needs",
                               incomplete = "but has no synfire_version_string" }) do
      local file = os.getenv("SYNFIRE_FOREIGN_LIBRARIES") .. "/libbindings-" .. kind .. ".so"
      local output = attempt(file)
      says(output, file)
      says(output, words)
    end
    says(attempt("libm.so.6"), "is not a Synfire library")
  end },
  { "its version", function()
    local version, abi = synfire.version()
    check.that(version:find("^0%.") and abi:find("^0%."), version .. " " .. abi)
  end },
}
