-- runner.lua - runs suites of tests by name: luajit runner.lua SUITE... Each is a file beside this one, which returns a list
-- of { name, function }; a test fails when it throws. The last line says how many passed.
--
-- SPDX-License-Identifier: MIT
local folder = arg[0]:match("^(.*[/\\])") or "./"
package.path = folder .. "?.lua;" .. package.path .. ";" .. folder .. "../?.lua"

local check = { n_checks = 0 }
package.loaded.check = check

function check.that(condition, what)
  check.n_checks = check.n_checks + 1
  if not condition then error("not true: " .. what, 2) end
end

function check.equal(got, expected, what)
  check.n_checks = check.n_checks + 1
  if got ~= expected then
    error(string.format("%s: %s, not %s", what, tostring(got), tostring(expected)), 2)
  end
end

-- The function throws an error of this rule whose text has these words. Returns the error.
function check.refused(rule, words, f)
  check.n_checks = check.n_checks + 1
  local ok, problem = pcall(f)
  if ok then error("nothing was refused; expected " .. rule, 2) end
  if type(problem) ~= "table" or problem.rule ~= rule or not problem.text:find(words, 1, true) then
    error("expected " .. rule .. " with '" .. words .. "'; got: " .. tostring(problem), 2)
  end
  return problem
end

-- The output of a program, and whether it ended well.
function check.output(command)
  local pipe = assert(io.popen(command .. " 2>&1; printf ' %d' $?"))
  local text = pipe:read("*a")
  pipe:close()
  return text:match("^(.*) %d+$"), text:match(" 0$") ~= nil
end

local n_passed, n_failed = 0, 0
for _, suite in ipairs(arg) do
  for _, test in ipairs(require(suite)) do
    local name, f = unpack(test)
    local ok, problem = xpcall(f, function(one) return debug.traceback(tostring(one), 2) end)
    n_passed, n_failed = n_passed + (ok and 1 or 0), n_failed + (ok and 0 or 1)
    print((ok and "ok: " or "FAILED: ") .. suite .. ": " .. name .. (ok and "" or "\n" .. problem))
  end
end
print(string.format("%d passed, %d failed, %d checks", n_passed, n_failed, check.n_checks))
os.exit(n_failed == 0 and n_passed > 0 and 0 or 1, true)
