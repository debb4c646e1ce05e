-- runtime.lua - Synfire for LuaJIT: spiking-neuron layers, networks and graphs through the FFI.
--
-- This file and the shared library are all that a program needs. What is here: the tables of synfire.h, and the code that
-- reads them. A constructor or an operation takes a table of fields with the header's own names; a function of an object
-- takes its parameters by position. Constants are strings, such as "lif". docs/pages/lua.md is the reference.
--
-- bindings/lua/generate.py makes synfire.lua of this file and of include/synfire/synfire.h.
--
-- SPDX-License-Identifier: MIT
local ffi = require("ffi")
local jit = require("jit")

local declarations = [[
--@declarations
]]
-- A second copy of this file, as after a hot reload, finds the types that the first one has declared.
if not pcall(ffi.typeof, "synfire_context_desc") then
  ffi.cdef(declarations)
  ffi.cdef("void *calloc(size_t count, size_t size); void free(void *memory);")
end

-- ---- What synfire.h declares ------------------------------------------------------------------------------------------

local ABI_MAJOR, ABI_MINOR
--@tables

local synfire = {}
local classes = {}
for _, handle in ipairs(handles) do
  local name, class = handle.name, { name = handle.name, destroy = handle.destroy }
  class.__index = class
  classes[name] = class
end

-- ---- Errors -----------------------------------------------------------------------------------------------------------

-- An error is a table with `status`, `rule`, `text`, `cuda_error` and `where`; tostring() has them all.
local Error = {}
Error.__index = Error
function Error.__tostring(problem)
  return problem.where .. problem.status .. " [" .. problem.rule .. "]: " .. problem.text ..
      (problem.cuda_error ~= 0 and " (CUDA error " .. problem.cuda_error .. ")" or "")
end
function Error.__concat(left, right)
  return tostring(left) .. tostring(right)
end

local this_file = debug.getinfo(1, "S").source

-- The line of the program that called into this file.
local function place()
  for level = 2, 60 do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    if info.source ~= this_file and info.currentline > 0 then return info.short_src .. ":" .. info.currentline .. ": " end
  end
  return ""
end

local function throw(status, rule, text, cuda_error)
  error(setmetatable({ status = status, rule = rule, text = text, cuda_error = cuda_error or 0, where = place() }, Error), 0)
end

local function refuse(rule, text)
  throw("error_invalid_argument", rule, text)
end

-- Text of any value, for errors.
local function shown(value)
  if type(value) == "string" then return '"' .. value .. '"' end
  if type(value) == "table" then
    local class = getmetatable(value)
    return class and classes[class.name] == class and "a " .. class.name or "a table"
  end
  return tostring(value)
end

-- How many letters must be changed, added, left out or swapped to make one word of another.
local function edits(a, b)
  local rows = { [0] = {} }
  for j = 0, #b do rows[0][j] = j end
  for i = 1, #a do
    local row, above, before = { [0] = i }, rows[i - 1], rows[i - 2]
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      row[j] = math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (same and 0 or 1))
      if before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    rows[i] = row
  end
  return rows[#a][#b]
end

-- ", did you mean ...?" where a known name is near, and the list of all.
local function allowed(name, names)
  local best, least = nil, 3
  for _, known in ipairs(names) do
    local distance = edits(string.lower(tostring(name)), known)
    if distance < least then best, least = known, distance end
  end
  return (best and " (did you mean " .. best .. "?)" or "") .. "; allowed: " .. table.concat(names, ", ")
end

-- ---- The library --------------------------------------------------------------------------------------------------------

local C            -- the library, once it is loaded
local library_file -- where it was found

local function library_names()
  local base = "libsynfire" .. ABI_MAJOR
  if ffi.os == "Windows" then return { "synfire" .. ABI_MAJOR .. ".dll" } end
  if ffi.os == "OSX" then return { base .. "." .. ABI_MAJOR .. ".dylib", base .. ".dylib" } end
  return { base .. ".so." .. ABI_MAJOR, base .. ".so" }
end

local function is_folder(path)
  local file = io.open(path, "rb")
  if not file then return false end
  local _, _, code = file:read(1)
  file:close()
  return code == 21 -- EISDIR
end

-- What is wrong with a library, or nil.
local function try(path)
  local ok, found = pcall(ffi.load, path)
  if not ok then return tostring(found) end
  local function has(name)
    return pcall(function() return found[name] end)
  end
  if not has("synfire_abi_version") then return path .. " is not a Synfire library: it has no synfire_abi_version" end
  local version = found.synfire_abi_version()
  local major, minor = math.floor(version / 65536), version % 65536
  if major ~= ABI_MAJOR or minor < ABI_MINOR then
    return string.format("%s has ABI %d.%d; this file needs %d.x with x at least %d", path, major, minor, ABI_MAJOR, ABI_MINOR)
  end
  for name in declarations:gmatch("(synfire_[%w_]+)%(") do
    if not has(name) then return string.format("%s says ABI %d.%d, but has no %s", path, major, minor, name) end
  end
  C, library_file = found, path
end

-- Loads the library, once: the file or folder that `path` or the environment variable SYNFIRE_LIBRARY names, and then
-- nothing else; or one beside this file, or where the system's loader looks.
function synfire.load(path)
  if C then
    if path and path ~= library_file then
      throw("error_wrong_order", "LUA-LOADED", "the library was loaded before, from " .. library_file)
    end
    return library_file
  end
  local wanted, candidates = path or os.getenv("SYNFIRE_LIBRARY") or "", {}
  if wanted == "" then
    local folder = this_file:match("^@(.*[/\\])")
    for _, name in ipairs(library_names()) do
      local beside = folder and folder .. name
      local file = beside and io.open(beside, "rb")
      if file then
        file:close()
        candidates[#candidates + 1] = beside
      end
    end
    for _, name in ipairs(library_names()) do candidates[#candidates + 1] = name end
  elseif is_folder(wanted) or ffi.os == "Windows" and not wanted:lower():match("%.dll$") then
    for _, name in ipairs(library_names()) do candidates[#candidates + 1] = wanted .. "/" .. name end
  else
    candidates[1] = wanted
  end
  local problems = {}
  for _, candidate in ipairs(candidates) do
    local problem = try(candidate)
    if not problem then return library_file end
    problems[#problems + 1] = "  " .. candidate .. ": " .. problem
  end
  throw("error_unsupported", "LUA-LIBRARY", "Synfire's C library could not be loaded. Tried:\n" .. table.concat(problems, "\n") ..
      "\n" .. (wanted ~= "" and "SYNFIRE_LIBRARY or synfire.load() names it, so nothing else was tried." or
               "SYNFIRE_LIBRARY is not set; set it to the library or to its folder."))
end

-- ---- Calls ----------------------------------------------------------------------------------------------------------------

local text_size = 4096

local function fail(status)
  local text, cuda_error = ffi.new("char[?]", text_size), ffi.new("int32_t[1]")
  C.synfire_last_error(text, text_size, cuda_error)
  local message = ffi.string(text)
  local rule, rest = message:match("^%[([^%]]+)%] (.*)$")
  local name = "status " .. status
  for _, constant in ipairs(groups.status) do
    if constant[2] == status then name = constant[1] end
  end
  throw(name, rule or "", rest or message, cuda_error[0])
end

-- A call that may call back, as one does into a native node or a job system, must not be part of a compiled trace. All
-- but the calls of a frame go this way.
local function call(name, ...)
  local status = C[name](...)
  if status < 0 then fail(status) end
  return status
end
jit.off(call)

-- ---- Objects ----------------------------------------------------------------------------------------------------------------

-- Arrays that the library borrows, by the address of a flag in C's memory. The library sets the flag, on any thread, when it
-- needs the array no more.
local lent = {}

local function take_back()
  for key, loan in pairs(lent) do
    if loan.flag[0] ~= 0 then
      lent[key] = nil
      ffi.C.free(loan.flag)
    end
  end
end

-- Arrays whose memory belongs to a buffer or a graph, each with the handle that keeps the memory.
local views = setmetatable({}, { __mode = "k" })

-- An object of a handle that C has just given. The handle is destroyed when it is collected, in any order: the library
-- keeps what another object needs.
local function adopt(class_name, handle, context)
  take_back()
  local object = setmetatable({ context = context }, classes[class_name])
  object.handle = ffi.gc(handle, C[classes[class_name].destroy])
  if class_name == "context" then object.context = object end
  return object
end

-- The handle of an object, which must be open and of the class.
local function handle_of(value, class_name, what)
  local class = classes[class_name]
  if getmetatable(value) ~= class then
    refuse("LUA-TYPE", what .. " = " .. shown(value) .. "; allowed: a " .. class_name)
  end
  local handle = value.handle
  if not handle then throw("error_invalid_handle", "LUA-CLOSED", what .. " is a " .. class_name .. " that was closed") end
  return handle
end

for name, class in pairs(classes) do
  -- Destroys the object now. What other objects need of it stays until they are closed; twice is fine.
  function class:close()
    local handle = self.handle
    if not handle then return end
    self.handle = nil
    if self.view then
      self.view = nil -- an array looks at its memory: the handle goes with the last of them
      return
    end
    ffi.gc(handle, nil)
    C[class.destroy](handle)
  end

  function class:is_closed()
    return self.handle == nil
  end

  class.__tostring = function(self)
    return "synfire " .. name .. (self.handle and "" or " (closed)")
  end
end

-- ---- Arrays -----------------------------------------------------------------------------------------------------------------

local element_of = { f32 = "float", f64 = "double", bits = "uint32_t", f16 = "uint16_t", bf16 = "uint16_t", u8 = "uint8_t",
                     time_bits = "uint32_t", u32 = "uint32_t", u64 = "uint64_t" }
local dtype_of = { float = "f32", double = "f64", uint32_t = "u32", uint8_t = "u8", uint64_t = "u64" }

-- The names of element types as LuaJIT prints them.
local printed = {}
for _, element in ipairs({ "float", "double", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t",
                           "uint64_t" }) do
  printed[tostring(ffi.typeof(element .. "[1]")):match("^ctype<(.-) %[1%]>$")] = element
end

-- The element type and the number of elements of an FFI array, else nil.
local function measure(value)
  if type(value) ~= "cdata" then return nil end
  local text = tostring(ffi.typeof(value)):gsub("^ctype<const ", "ctype<")
  local element = text:match("^ctype<(.-) %[.*%]>$") or text:match("^ctype<(.-) %(&%)%[.*%]>$") or
      text:match("^ctype<(.-) %(&%) ?%[.*%]>$")
  element = element and printed[element]
  if not element then return nil end
  return element, ffi.sizeof(value) / ffi.sizeof(element)
end

local bounds = { int8_t = { -128, 127 }, uint8_t = { 0, 255 }, int16_t = { -32768, 32767 }, uint16_t = { 0, 65535 },
                 int32_t = { -2147483648, 2147483647 }, uint32_t = { 0, 4294967295 },
                 int64_t = { -9007199254740992, 9007199254740992 }, uint64_t = { 0, 9007199254740992 } }
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")

-- A number of C's type, or an error. 64-bit integers may also be those of the FFI.
local function checked_number(value, ctype, what)
  if type(value) == "cdata" and (ctype == "int64_t" or ctype == "uint64_t") and
      (ffi.istype(int64, value) or ffi.istype(uint64, value)) then
    if ctype == "uint64_t" and ffi.istype(int64, value) and value < 0 or
        ctype == "int64_t" and ffi.istype(uint64, value) and value > 0x7fffffffffffffffULL then
      refuse("LUA-RANGE", what .. " = " .. tostring(value) .. "; allowed: a number of type " .. ctype)
    end
    return value
  end
  if type(value) ~= "number" then refuse("LUA-TYPE", what .. " = " .. shown(value) .. "; allowed: a number") end
  local range = bounds[ctype]
  if range and (value ~= math.floor(value) or value < range[1] or value > range[2]) then
    refuse("LUA-RANGE", string.format("%s = %.17g; allowed: integers from %.0f to %.0f", what, value, range[1], range[2]))
  end
  return value
end

-- Numbers as an FFI array of C's type: a table is copied, an array of that type is taken as it is.
local function checked_array(values, ctype, what)
  if type(values) == "table" and not getmetatable(values) then
    local n = #values
    local array = ffi.new(ctype .. "[?]", math.max(n, 1))
    for i = 1, n do array[i - 1] = checked_number(values[i], ctype, what .. "[" .. i .. "]") end
    for key in pairs(values) do
      if type(key) ~= "number" or key < 1 or key > n or key ~= math.floor(key) then
        refuse("LUA-TYPE", what .. " has the key " .. shown(key) .. "; allowed: a table of numbers from 1 on, without gaps")
      end
    end
    return array, n
  end
  local element, n = measure(values)
  if element ~= ctype then
    refuse("LUA-TYPE", what .. " = " .. (element and "an array of " .. element or shown(values)) ..
        "; allowed: a table of numbers, or an FFI array of " .. ctype .. " (a pointer has no length)")
  end
  return values, n
end

-- An FFI array: synfire.array("f32", 128), or with a table of numbers. Its elements count from 0.
function synfire.array(dtype, values)
  local ctype = element_of[dtype]
  if not ctype then
    refuse("LUA-NAME", "dtype = " .. shown(dtype) .. "; allowed: a name of an element type, such as \"f32\"")
  end
  if type(values) == "table" then
    local array, n = checked_array(values, ctype, "values")
    if n == 0 then refuse("LUA-LENGTH", "values is empty; allowed: at least one number") end
    return array
  end
  if checked_number(values, "int64_t", "values") < 1 then
    refuse("LUA-RANGE", "values = " .. tostring(values) .. "; allowed: at least 1")
  end
  return ffi.new(ctype .. "[?]", values)
end

-- ---- Tables as structures -----------------------------------------------------------------------------------------------------

local numbers_of, names_of = {}, {} -- the constants of each group by name, and by number
for group, constants in pairs(groups) do
  numbers_of[group], names_of[group] = {}, {}
  for _, constant in ipairs(constants) do
    numbers_of[group][constant[1]] = constant[2]
    names_of[group][constant[2]] = names_of[group][constant[2]] or constant[1]
  end
end

-- All names of constants: synfire.constants.slots.shared.
synfire.constants = numbers_of

local function named(value, group, what)
  local number = numbers_of[group][value]
  if number then return number end
  local names = {}
  for _, constant in ipairs(groups[group]) do names[#names + 1] = constant[1] end
  refuse("LUA-NAME", what .. " = " .. shown(value) .. allowed(value, names))
end

local function checked_text(value, what)
  if type(value) ~= "string" then refuse("LUA-TYPE", what .. " = " .. shown(value) .. "; allowed: a string") end
  if value:find("\0", 1, true) then refuse("LUA-TEXT", what .. " has a null character; allowed: a string without one") end
  return value
end

-- The number of a field or a parameter, from a number, a boolean, or the names of constants. `is_loose`: what is not marked
-- as a flag may be one.
local function number_for(field, value, what, is_loose)
  local group = field.group
  if type(value) == "boolean" and (field.flag or is_loose and field.type == "int32_t" and not group) then
    return value and 1 or 0
  end
  if group and type(value) == "string" then return named(value, group, what) end
  if group and field.sum and type(value) == "table" then
    local sum = 0
    for _, name in ipairs(value) do sum = sum + named(name, group, what) end
    return sum
  end
  local class = type(value) == "table" and getmetatable(value)
  if group and (class == classes.model or class == classes.surrogate) then
    if class.name ~= group then refuse("LUA-TYPE", what .. " = a " .. class.name .. "; allowed: a " .. group) end
    return value:get_info().id
  end
  return checked_number(value, field.type, what)
end

local buffer_of, struct_of -- below

-- What structures point to lives as long as they do: C's pointers keep nothing from the collector.
local anchors = setmetatable({}, { __mode = "k" })

local function pointer_for(field, value, what)
  if type(value) == "function" then
    refuse("LUA-CALLBACK", what .. " is a Lua function; allowed: a pointer to a function of C. Other threads would call it, " ..
        "and no Lua may run there")
  end
  if type(value) ~= "cdata" then refuse("LUA-TYPE", what .. " = " .. shown(value) .. "; allowed: a pointer") end
  return value
end

-- A list as an array of C and its length. `keep` holds what it points to.
local function list_for(field, value, what, keep, context)
  if type(value) == "number" and (field.type == "double" or field.type == "float") then value = { value } end
  if structs[field.type] then
    if type(value) ~= "table" then refuse("LUA-TYPE", what .. " = " .. shown(value) .. "; allowed: a table") end
    local members, items = structs[field.type], value
    -- { name = value } instead of a list of structures of a name and a value.
    if #value == 0 and next(value) ~= nil then
      items = {}
      for name, one in pairs(value) do
        local item = { [members[1].name] = name }
        local second = members[2]
        if second.kind == "text" and type(one) ~= "string" then second = members[3] end
        item[second.name] = type(one) == "boolean" and (one and 1 or 0) or one
        items[#items + 1] = item
      end
      table.sort(items, function(a, b) return tostring(a[members[1].name]) < tostring(b[members[1].name]) end)
    end
    local array = ffi.new(field.type .. "[?]", math.max(#items, 1))
    for i, item in ipairs(items) do
      if type(item) == "string" then item = { [members[1].name] = item } end
      struct_of(field.type, item, what .. "[" .. i .. "]", keep, context, array[i - 1])
    end
    keep[#keep + 1] = array
    return array, #items
  end
  if field.object then
    if type(value) ~= "table" then refuse("LUA-TYPE", what .. " = " .. shown(value) .. "; allowed: a table of objects") end
    local array = ffi.new(field.type .. "[?]", math.max(#value, 1))
    for i, one in ipairs(value) do
      array[i - 1] = field.object == "buffer" and buffer_of(one, what .. "[" .. i .. "]", keep, context) or
          handle_of(one, field.object, what .. "[" .. i .. "]")
    end
    keep[#keep + 1] = array
    return array, #value
  end
  local array, n = checked_array(value, field.type, what)
  keep[#keep + 1] = array
  return array, n
end

-- Fills in a structure from a table whose keys are its fields. Unknown keys are refused, or put into `others`.
function struct_of(name, values, what, keep, context, into, others)
  if values ~= nil and (type(values) ~= "table" or getmetatable(values)) then
    refuse("LUA-TYPE", what .. " = " .. shown(values) .. "; allowed: a table of fields")
  end
  values = values or {}
  local fields, struct = structs[name], into or ffi.new(name)
  if not into then anchors[struct] = keep end
  if fields.sized then struct.struct_size = ffi.sizeof(name) end
  local known = {}
  for _, field in ipairs(fields) do
    if field.kind ~= "length" then known[field.name] = field end
  end
  local missing
  for _, field in ipairs(fields) do
    local is_needed = field.required or field.needed and field.kind ~= "length"
    if is_needed and values[field.name] == nil then missing = missing or field.name end
  end
  for key, value in pairs(values) do
    if not known[key] then
      if others and not (missing and type(key) == "string" and edits(key, missing) < 3) then
        others[key] = value
      else
        local names = {}
        for _, field in ipairs(fields) do
          if known[field.name] then names[#names + 1] = field.name end
        end
        refuse("LUA-FIELD", what .. " has the field " .. tostring(key) .. allowed(key, names))
      end
    end
  end
  if missing then refuse("LUA-MISSING", what .. " has no " .. missing .. ", which must be given") end
  for _, field in ipairs(fields) do
    local value, kind = values[field.name], field.kind
    local where = what .. "." .. field.name
    if value == nil or kind == "length" then -- stays as it is
    elseif kind == "number" then
      struct[field.name] = number_for(field, value, where)
    elseif kind == "numbers" then
      local array, n = checked_array(value, field.type, where)
      if n > field.array then refuse("LUA-LENGTH", where .. " has " .. n .. " numbers; allowed: at most " .. field.array) end
      for i = 0, n - 1 do struct[field.name][i] = array[i] end
    elseif kind == "object" then
      struct[field.name] = field.object == "buffer" and buffer_of(value, where, keep, context) or
          handle_of(value, field.object, where)
    elseif kind == "text" then
      keep[#keep + 1] = checked_text(value, where)
      struct[field.name] = value
    elseif kind == "list" then
      local array, n = list_for(field, value, where, keep, context)
      struct[field.name], struct[field.length] = array, n
    else
      struct[field.name] = pointer_for(field, value, where)
    end
    -- A bound counts when it is given.
    if value ~= nil and field.bound then
      for _, sum in ipairs(fields) do
        if sum.sum then struct[sum.name] = require("bit").bor(struct[sum.name], numbers_of[sum.group][field.name]) end
      end
    end
  end
  return struct
end

-- A structure that C has filled in, as a table.
local function table_of(name, struct)
  local result = {}
  for _, field in ipairs(structs[name]) do
    local value, kind = struct[field.name], field.kind
    if kind == "number" then
      value = tonumber(value)
      if field.flag then
        value = value ~= 0
      elseif field.group and not field.sum then
        value = names_of[field.group][value] or value
      end
      result[field.name] = value
    elseif kind == "numbers" then
      result[field.name] = {}
      for i = 1, field.array do result[field.name][i] = tonumber(value[i - 1]) end
    elseif kind == "chars" then
      result[field.name] = ffi.string(value)
    elseif kind == "text" then
      result[field.name] = value ~= nil and ffi.string(value) or nil
    end
  end
  return result
end

-- ---- Buffers ------------------------------------------------------------------------------------------------------------------

-- A buffer over the memory of an FFI array, which is kept until the library needs it no more.
local function borrow(context, array, fields, what)
  local element, n = measure(array)
  if not element then
    refuse("LUA-TYPE", what .. " = " .. shown(array) .. "; allowed: an FFI array (a pointer has no length)")
  end
  local desc = struct_of("synfire_buffer_desc", fields, what, {}, context)
  local wanted = names_of.dtype[desc.dtype]
  if element_of[wanted] ~= element then
    refuse("LUA-TYPE", what .. " is an array of " .. element .. "; allowed: one of " .. element_of[wanted] .. " for the type " ..
        wanted)
  end
  local out, flag = ffi.new("synfire_buffer[1]"), ffi.cast("uint32_t *", ffi.C.calloc(1, 4))
  if flag == nil then throw("error_out_of_memory", "LUA-MEMORY", "4 bytes could not be allocated") end
  desc.data, desc.n_elements, desc.release_flag = ffi.cast("void *", array), n, flag
  local ok, problem = pcall(call, "synfire_buffer_create", context.handle, desc, out)
  if not ok then
    ffi.C.free(flag)
    error(problem, 0)
  end
  lent[tonumber(ffi.cast("uintptr_t", flag))] = { flag = flag, array = array }
  return adopt("buffer", out[0], context)
end

-- The handle of a buffer, or of one over the memory of an FFI array that stands for one.
function buffer_of(value, what, keep, context, dtype)
  if type(value) == "cdata" then
    local element = measure(value)
    local fields = { memory = "host", dtype = dtype or dtype_of[element] }
    if context.is_host then fields.memory = "device" end
    local buffer = borrow(context, value, fields, what)
    keep[#keep + 1] = buffer
    return buffer.handle
  end
  return handle_of(value, "buffer", what)
end

local Buffer = classes.buffer

-- Its type, kind of memory, shape and number of elements.
function Buffer:get_desc()
  local desc = ffi.new("synfire_buffer_desc")
  desc.struct_size = ffi.sizeof(desc)
  call("synfire_buffer_get_desc", handle_of(self, "buffer", "buffer"), desc)
  local result = table_of("synfire_buffer_desc", desc)
  while result.shape[#result.shape] == 0 do result.shape[#result.shape] = nil end
  return result
end

local function facts(buffer)
  local known = buffer.facts
  if not known then
    known = buffer:get_desc()
    known.element = element_of[known.dtype]
    buffer.facts = known
  end
  return known
end

-- Copies a table or an FFI array of the buffer's type into it, from element `offset` on (0 by default).
function Buffer:upload(values, offset)
  local handle, known = handle_of(self, "buffer", "buffer"), facts(self)
  if type(values) == "table" and (known.dtype == "f16" or known.dtype == "bf16") then
    refuse("LUA-TYPE", "values = a table, for a buffer of type " .. known.dtype .. "; allowed: an FFI array of uint16_t")
  end
  local array, n = checked_array(values, known.element, "values")
  offset = checked_number(offset or 0, "uint64_t", "offset")
  if offset + n > known.n_elements then
    refuse("LUA-LENGTH", string.format("%d values from element %d on; allowed: at most the %d elements of the buffer", n, offset,
                                       known.n_elements))
  end
  local size = ffi.sizeof(known.element)
  call("synfire_buffer_upload", handle, offset * size, array, n * size)
  return self
end

-- Its elements as a new FFI array, or copied into the one that is given, which has as many elements.
function Buffer:download(array)
  local handle, known = handle_of(self, "buffer", "buffer"), facts(self)
  array = array or ffi.new(known.element .. "[?]", known.n_elements)
  local element, n = measure(array)
  if element ~= known.element then
    refuse("LUA-TYPE", "array = " .. (element and "an array of " .. element or shown(array)) .. "; allowed: an FFI array of " ..
        known.element)
  end
  if n ~= known.n_elements then
    refuse("LUA-LENGTH", string.format("array has %d elements; allowed: %d", n, known.n_elements))
  end
  call("synfire_buffer_download", handle, 0, array, n * ffi.sizeof(element))
  return array
end

-- The same as a table of numbers, which count from 1.
function Buffer:to_table()
  local array, values = self:download(), {}
  for i = 1, facts(self).n_elements do values[i] = tonumber(array[i - 1]) end
  return values
end

-- Memory as an FFI array that keeps the handle. LuaJIT checks no index: it is C's memory.
local function view_of(address, element, n, handle)
  local array = ffi.cast(string.format("%s (&)[%d]", element, n), address)
  views[array] = handle
  return array
end

-- The memory of a buffer as an FFI array, whose elements count from 0: the same array each time. It may be used after
-- close().
function Buffer:array()
  local handle = handle_of(self, "buffer", "buffer")
  if self.view then return self.view end
  local known = facts(self)
  if not self.context.is_host and known.memory == "device" then
    refuse("LUA-MEMORY", "the buffer is in the memory of a GPU; allowed: upload() and download(), or a buffer of kind \"pinned\"")
  end
  local data = ffi.new("void *[1]")
  call("synfire_buffer_get_data", handle, data, nil)
  if data[0] == nil then
    refuse("LUA-MEMORY", "the buffer has no memory of its own (" .. known.memory .. "); allowed: one of another kind")
  end
  self.view = view_of(data[0], known.element, known.n_elements, handle)
  return self.view
end

-- ---- Functions made of the tables -----------------------------------------------------------------------------------------------

local Context = classes.context

-- A context: synfire.context{ backend = "host", n_threads = 2 }. The default is a GPU if one is usable, else the host.
function synfire.context(fields)
  synfire.load()
  local out = ffi.new("synfire_context[1]")
  call("synfire_context_create", struct_of("synfire_context_desc", fields, "context", {}), out)
  local context = adopt("context", out[0])
  context.is_host = context:get_properties().backend == "host"
  context.calls_back = fields ~= nil and fields.enqueue_task ~= nil
  return context
end

for _, made in ipairs(creations) do
  Context[made.name] = function(self, fields, ...)
    local handle = handle_of(self, "context", "context")
    if select("#", ...) > 0 then refuse("LUA-TYPE", made.name .. " takes one table of fields") end
    local out, keep, others = ffi.new("synfire_" .. made.object .. "[1]"), {}, made.object == "layer" and {} or nil
    call(made.create, handle, struct_of(made.desc, fields, made.name, keep, self, nil, others), out)
    return adopt(made.object, out[0], self), others
  end
end

-- A buffer. Beside the fields of the header: `values`, a table or an FFI array to copy into it, or `borrow`, an FFI array
-- whose memory it is.
local create_buffer = Context.buffer
function Context:buffer(fields)
  handle_of(self, "context", "context")
  if type(fields) ~= "table" then refuse("LUA-TYPE", "buffer = " .. shown(fields) .. "; allowed: a table of fields") end
  local values, array, own = fields.values, fields.borrow, {}
  for key, value in pairs(fields) do
    if key ~= "values" and key ~= "borrow" then own[key] = value end
  end
  if array ~= nil then
    if values ~= nil then refuse("LUA-FIELD", "buffer has values and borrow; allowed: one of them") end
    local element = measure(array)
    own.dtype = own.dtype or dtype_of[element]
    return (borrow(self, array, own, "buffer"))
  end
  if values ~= nil then
    local element, n = measure(values)
    own.dtype = own.dtype or element and dtype_of[element]
    if own.n_elements == nil and own.shape == nil then own.n_elements = n or type(values) == "table" and #values or nil end
  end
  local buffer = create_buffer(self, own)
  if values ~= nil then
    local known = facts(buffer)
    local _, n = checked_array(values, known.element, "values")
    if n ~= known.n_elements then
      buffer:close()
      refuse("LUA-LENGTH", string.format("values has %d elements; allowed: %d, as many as the buffer", n, known.n_elements))
    end
    buffer:upload(values)
  end
  return buffer
end

local create_network = Context.network
function Context:network(fields)
  local network = create_network(self, fields)
  network.batch = fields.batch or 1
  return network
end

-- A layer. Beside the fields of the header: parameters of its model by name, each a number or a list of one per neuron.
local create_layer = Context.layer
function Context:layer(fields)
  local layer, parameters = create_layer(self, fields)
  local ok, problem = pcall(function()
    local known, names = {}, {}
    for _, parameter in ipairs(layer:parameters()) do known[parameter.name] = true end
    for key in pairs(parameters) do
      if not known[key] then
        for _, field in ipairs(structs.synfire_layer_desc) do names[#names + 1] = field.name end
        for _, parameter in ipairs(layer:parameters()) do names[#names + 1] = parameter.name end
        refuse("LUA-FIELD", "layer has the field " .. tostring(key) .. allowed(key, names))
      end
    end
    if next(parameters) then layer:set_parameters(parameters) end
  end)
  if not ok then
    layer:close()
    error(problem, 0)
  end
  return layer
end

for _, query in ipairs(queries) do
  synfire[query.name] = function(fields)
    synfire.load()
    local answer = ffi.new(query.answer)
    answer.struct_size = ffi.sizeof(answer)
    call(query.call, struct_of(query.desc, fields, query.name, {}), answer)
    return table_of(query.answer, answer)
  end
end

local Graph = classes.graph

-- Closes the buffers that stood for FFI arrays in a call.
local function close_buffers(keep)
  for _, kept in ipairs(keep) do
    if getmetatable(kept) == Buffer then kept:close() end
  end
end

local function last_operation(handle)
  local number = ffi.new("int32_t[1]")
  call("synfire_graph_get_last_operation", handle, number)
  return number[0]
end

for _, operation in ipairs(operations) do
  local object = operation.object
  -- Records it, and returns the number of the operation.
  Graph[operation.name] = function(self, first, second)
    local handle, keep = handle_of(self, "graph", "graph"), {}
    local fields = first
    if object then fields = second end
    if not object and second ~= nil then refuse("LUA-TYPE", operation.name .. " takes one table of fields") end
    local of = object and handle_of(first, object, operation.name .. "'s " .. object)
    local desc = struct_of(operation.desc, fields, operation.name, keep, self.context)
    if object then
      call(operation.record, handle, of, desc)
    else
      call(operation.record, handle, desc)
    end
    if operation.name == "native" then self.calls_back = true end
    close_buffers(keep) -- the graph has them
    return last_operation(handle)
  end
  if operation.run then
    classes[operation.on][operation.method] = function(self, fields, stream)
      local handle, keep = handle_of(self, operation.on, operation.on), {}
      local desc = struct_of(operation.desc, fields, operation.method, keep, self.context)
      if stream ~= nil then pointer_for(nil, stream, "stream") end
      call(operation.run, handle, desc, stream)
      close_buffers(keep)
      return self
    end
  end
end

for _, pass in ipairs(passes) do
  -- Pointers and FFI arrays are taken as they are: the program keeps their memory, whose size nobody checks.
  classes[pass.object][pass.name] = function(self, fields, stream)
    local handle, keep = handle_of(self, pass.object, pass.object), {}
    local desc = struct_of(pass.desc, fields, pass.name, keep, self.context)
    if stream ~= nil then pointer_for(nil, stream, "stream") end
    call(pass.call, handle, desc, stream)
    return self
  end
end

local is_result = { result = true, answer = true, part = true, string = true, capacity = true, size = true, length = true }
-- Parameters of networks whose buffers are numbers of rows or classes.
local is_whole = { labels = true, lengths = true }

-- The library takes data that are longer than their rows. Numbers that the program gives as they are must be exactly as many.
local function check_rows(network, value, name, stage, n_rows)
  local element, n = measure(value)
  if n % n_rows ~= 0 then
    refuse("LUA-LENGTH", string.format("%s has %d numbers; allowed: as many for each of %d rows", name, n, n_rows))
  end
  if name ~= "inputs" or not network.batch then return end
  local known, buffer = pcall(network.get_buffer, network, stage and stage .. ".input" or "input")
  if not known then return end -- there is more than one input, or it is not built: the library says so
  local input = facts(buffer)
  local per_row = input.n_elements / network.batch
  buffer:close()
  if input.element == element and n ~= n_rows * per_row then
    refuse("LUA-LENGTH", string.format("inputs has %d numbers; allowed: %d, %d for each of %d rows", n, n_rows * per_row, per_row,
                                       n_rows))
  end
end

-- The handle of a parameter's buffer: a table of numbers is copied, an FFI array borrowed, for the time of the call.
local function argument_buffer(object, value, name, keep, stage, n_rows)
  local dtype
  if type(value) == "table" and not getmetatable(value) then
    dtype = is_whole[name] and "u32" or "f32"
    value = checked_array(value, element_of[dtype], name)
  elseif type(value) == "cdata" and measure(value) == "uint32_t" then
    dtype = is_whole[name] and "u32" or "bits"
  end
  if n_rows and measure(value) then check_rows(object, value, name, stage, n_rows) end
  return buffer_of(value, name, keep, object.context, dtype)
end

local function define(method)
  local class, n_given = classes[method.object], 0
  for _, p in ipairs(method) do
    if not is_result[p.kind] then n_given = n_given + 1 end
  end
  class[method.name] = function(self, ...)
    local arguments, n = { handle_of(self, method.object, method.object) }, 1
    local given, at, keep, out, lengths, text, n_rows = { ... }, 0, {}, {}, {}, nil, nil
    if select("#", ...) > n_given then
      refuse("LUA-TYPE", string.format("%s takes %d arguments, not %d", method.name, n_given, select("#", ...)))
    end
    for _, p in ipairs(method) do
      n = n + 1
      local kind, value = p.kind, nil
      if not is_result[kind] then
        at = at + 1
        value = given[at]
        if value == nil and (kind == "number" and not (p.optional or p.optional_nan) or p.needed) then
          refuse("LUA-MISSING", method.name .. " has no " .. p.name .. ", which must be given")
        end
      end
      if kind == "number" then
        if p.name == "n_rows" and method.object == "network" then n_rows = type(value) == "number" and value > 0 and value end
        arguments[n] = value == nil and (p.optional_nan and 0 / 0 or 0) or value ~= nil and number_for(p, value, p.name, true)
      elseif kind == "object" and value ~= nil then
        arguments[n] = p.object == "buffer" and argument_buffer(self, value, p.name, keep, nil, n_rows) or
            handle_of(value, p.object, p.name)
      elseif kind == "text" and value ~= nil then
        arguments[n] = checked_text(value, p.name)
      elseif (kind == "stream" or kind == "pointer" or kind == "callback") and value ~= nil then
        arguments[n] = pointer_for(p, value, p.name)
      elseif kind == "list" and (p.is_read or structs[p.type]) then
        if structs[p.type] and type(value) == "table" then
          -- Arrays of networks: tables and FFI arrays stand for buffers.
          local items = {}
          for i, item in ipairs(value) do
            items[i] = item
            if type(item) == "table" and item.buffer ~= nil and getmetatable(item.buffer) ~= Buffer then
              items[i] = {}
              for key, one in pairs(item) do items[i][key] = one end
              argument_buffer(self, item.buffer, item.role, keep, item.stage, n_rows)
              items[i].buffer = keep[#keep]
            end
          end
          if #value > 0 then value = items end
        end
        arguments[n], lengths[p.name] = list_for(p, value, p.name, keep, self.context)
        if not p.is_read then out[#out + 1] = { p, arguments[n] } end
      elseif kind == "list" then -- C fills it in: the caller says how many
        lengths[p.name] = checked_number(value, "uint64_t", p.name)
        arguments[n] = ffi.new(p.type .. "[?]", math.max(lengths[p.name], 1))
        out[#out + 1] = { p, arguments[n] }
      elseif kind == "length" then
        arguments[n] = lengths[p.counted]
      elseif kind == "string" then -- first only its size is asked for
        text = n
      elseif kind == "capacity" then
        arguments[n] = 0
      elseif kind == "size" then
        arguments[n] = ffi.new("uint64_t[1]")
      elseif kind == "result" then
        arguments[n] = ffi.new(p.type .. "[1]")
        out[#out + 1] = { p, arguments[n] }
      elseif kind == "answer" then
        arguments[n] = ffi.new(p.type)
        arguments[n].struct_size = ffi.sizeof(p.type)
        out[#out + 1] = { p, arguments[n] }
      elseif kind == "part" then
        arguments[n] = ffi.new("synfire_" .. p.object .. "[1]")
        out[#out + 1] = { p, arguments[n] }
      end
    end
    call(method.call, unpack(arguments, 1, n))
    if text then
      local size = tonumber(arguments[text + 2][0])
      arguments[text], arguments[text + 1] = ffi.new("char[?]", math.max(size, 1)), size
      call(method.call, unpack(arguments, 1, n))
      table.insert(out, 1, { { kind = "string" }, arguments[text] })
    end
    close_buffers(keep)
    if #out == 0 then return self end
    local results = {}
    for i, one in ipairs(out) do
      local p, value = one[1], one[2]
      if p.kind == "result" then
        results[i] = tonumber(value[0])
        if p.group then results[i] = names_of[p.group][results[i]] or results[i] end
        if p.flag then results[i] = results[i] ~= 0 end
      elseif p.kind == "string" then
        results[i] = ffi.string(value)
      elseif p.kind == "answer" then
        results[i] = table_of(p.type, value)
      elseif p.kind == "part" then
        results[i] = adopt(p.object, value[0], self.context)
      else
        results[i] = {}
        for k = 1, lengths[p.name] do
          results[i][k] = structs[p.type] and table_of(p.type, value[k - 1]) or tonumber(value[k - 1])
        end
      end
    end
    return unpack(results, 1, #out)
  end
end

for _, method in ipairs(methods) do define(method) end

-- ---- Graphs: the calls of a frame -------------------------------------------------------------------------------------------------

-- These allocate nothing: no table, no closure, and no 64-bit number, which LuaJIT would put into the heap.
local ticket_memory = ffi.new("uint64_t[1]")
local ticket_words = ffi.cast("uint32_t *", ticket_memory)
local spin, policies = numbers_of.wait.spin, numbers_of.wait

local function launch(graph, stream)
  local status = C.synfire_graph_launch(graph.handle, stream, ticket_memory)
  if status < 0 then fail(status) end
  return ticket_words[0] + ticket_words[1] * 4294967296
end

-- The same, never compiled: where a replay may call back.
local function launch_interpreted(graph, stream)
  local status = C.synfire_graph_launch(graph.handle, stream, ticket_memory)
  if status < 0 then fail(status) end
  return ticket_words[0] + ticket_words[1] * 4294967296
end
jit.off(launch_interpreted)

-- Replays the graph once. Returns its ticket, or 0 where it became part of a capture.
function Graph:launch(stream)
  if type(self) ~= "table" or not self.handle then handle_of(self, "graph", "graph") end
  if stream ~= nil then pointer_for(nil, stream, "stream") end
  if self.calls_back or self.context.calls_back then return launch_interpreted(self, stream) end
  return launch(self, stream)
end

-- Waits for a replay, `seconds` at most (without: until it is done). True when it is done, false when the time was up.
-- `policy` is "spin" (by default), "yield" or "block".
function Graph:wait(ticket, seconds, policy)
  if type(self) ~= "table" or not self.handle then handle_of(self, "graph", "graph") end
  if type(ticket) ~= "number" or ticket < 0 or ticket > 9007199254740992 or ticket ~= math.floor(ticket) then
    refuse("LUA-TYPE", "ticket = " .. shown(ticket) .. "; allowed: what launch() returned")
  end
  local how, time = spin, -1
  if policy ~= nil then how = policies[policy] or named(policy, "wait", "policy") end
  if seconds ~= nil then
    if type(seconds) ~= "number" or seconds ~= seconds then
      refuse("LUA-TYPE", "seconds = " .. shown(seconds) .. "; allowed: a number")
    end
    time = seconds >= 9e9 and -1 or math.max(seconds, 0) * 1e9
  end
  local status = C.synfire_graph_wait(self.handle, ticket, how, time)
  if status < 0 then fail(status) end
  return status == 0
end

-- Whether a replay is done. Never blocks.
function Graph:poll(ticket)
  if type(self) ~= "table" or not self.handle then handle_of(self, "graph", "graph") end
  if type(ticket) ~= "number" then refuse("LUA-TYPE", "ticket = " .. shown(ticket) .. "; allowed: what launch() returned") end
  local status = C.synfire_graph_poll(self.handle, ticket)
  if status < 0 then fail(status) end
  return status == 0
end

-- Changes a number that an operation uses, from the next launch on.
function Graph:set_value(operation, name, value)
  if type(self) ~= "table" or not self.handle then handle_of(self, "graph", "graph") end
  if type(operation) ~= "number" then refuse("LUA-TYPE", "operation = " .. shown(operation) .. "; allowed: a number") end
  if type(name) ~= "string" then refuse("LUA-TYPE", "name = " .. shown(name) .. "; allowed: a string") end
  if type(value) ~= "number" then refuse("LUA-TYPE", "value = " .. shown(value) .. "; allowed: a number") end
  local status = C.synfire_graph_set_value(self.handle, operation, name, value)
  if status < 0 then fail(status) end
  return self
end

-- Lets an operation run in later replays, or leaves it out.
function Graph:set_enabled(operation, enabled)
  if type(self) ~= "table" or not self.handle then handle_of(self, "graph", "graph") end
  if type(operation) ~= "number" then refuse("LUA-TYPE", "operation = " .. shown(operation) .. "; allowed: a number") end
  if type(enabled) ~= "boolean" then refuse("LUA-TYPE", "enabled = " .. shown(enabled) .. "; allowed: true or false") end
  local status = C.synfire_graph_set_enabled(self.handle, operation, enabled and 1 or 0)
  if status < 0 then fail(status) end
  return self
end

local slot_data = ffi.new("void *[1]")
local slot_words = ffi.cast("uint32_t *", slot_data)

-- The memory of a pinned buffer that a replay reads and writes, as an FFI array: the next launch's (ticket 0, by
-- default), or that of a launch before. nil while the replay that has it is in flight.
function Graph:get_slot(buffer, ticket)
  local handle, of = handle_of(self, "graph", "graph"), handle_of(buffer, "buffer", "buffer")
  local status = C.synfire_graph_get_slot(handle, ticket or 0, of, slot_data, nil)
  if status < 0 then fail(status) end
  if status ~= 0 then return nil end
  local key = slot_words[0] + slot_words[1] * 4294967296
  self.view = self.view or {}
  local array = self.view[key]
  if not array then
    local known = facts(buffer)
    array = view_of(slot_data[0], known.element, known.n_elements, handle)
    self.view[key] = array
  end
  return array
end

-- Records and instantiates: `record` gets an empty graph. When it throws, the graph is closed.
function Context:record(record, fields)
  local graph = self:graph(fields)
  local ok, problem = pcall(function()
    record(graph)
    graph:instantiate()
  end)
  if not ok then
    graph:close()
    error(problem, 0)
  end
  return graph
end

-- ---- Texts and files --------------------------------------------------------------------------------------------------------------

-- Bytes that C gives, whose size it says first. Texts end with a null character, which is left out.
local function bytes_of(name, is_text, ...)
  local size = ffi.new("uint64_t[1]")
  local arguments, n = { ... }, select("#", ...)
  arguments[n + 2] = size
  call(name, unpack(arguments, 1, n + 2))
  local data = ffi.new("char[?]", math.max(tonumber(size[0]), 1))
  arguments[n + 1] = data
  call(name, unpack(arguments, 1, n + 2))
  local length = tonumber(size[0])
  return ffi.string(data, is_text and math.max(length - 1, 0) or length)
end

-- The operations as text in the DOT language of Graphviz.
function Graph:write_dot()
  return bytes_of("synfire_graph_write_dot", true, handle_of(self, "graph", "graph"))
end

local Network = classes.network

-- The stages as text in the DOT language of Graphviz.
function Network:write_dot()
  return bytes_of("synfire_network_write_dot", true, handle_of(self, "network", "network"))
end

-- A table of the stages, and the bytes that the parts of the network take.
function Network:write_summary()
  return bytes_of("synfire_network_write_summary", true, handle_of(self, "network", "network"))
end

-- The bytes of the file that save() writes, as a string.
function Network:save_to_memory()
  return bytes_of("synfire_network_save_to_memory", false, handle_of(self, "network", "network"))
end

-- Loads what save_to_memory() has returned.
function Network:load_from_memory(file)
  local handle = handle_of(self, "network", "network")
  if type(file) ~= "string" then refuse("LUA-TYPE", "file = " .. shown(file) .. "; allowed: a string of bytes") end
  call("synfire_network_load_from_memory", handle, file, #file)
  return self
end

-- As load_arrays(), from the bytes of a file: { { theirs = "fc.weight", ours = "hidden.weights", layout = "oi" }, "hidden.bias" }.
-- Returns the sources, each with is_loaded.
function Network:load_arrays_from_memory(file, sources, leave_out)
  local handle, keep = handle_of(self, "network", "network"), {}
  if type(file) ~= "string" then refuse("LUA-TYPE", "file = " .. shown(file) .. "; allowed: a string of bytes") end
  local list, count = list_for({ type = "synfire_array_source" }, sources, "sources", keep, self.context)
  call("synfire_network_load_arrays_from_memory", handle, file, #file, list, count, leave_out and 1 or 0)
  local results = {}
  for i = 1, count do results[i] = table_of("synfire_array_source", list[i - 1]) end
  return results
end

-- Data that stay in files, and that may be larger than memory:
-- network:open_data("training", { { role = "inputs", path = "rows.npy" },
--                                 { role = "labels", path = "rows.safetensors", tensor = "labels" } }, { block_rows = 256 })
-- The fields at the end, n_readers, block_rows and window_blocks, may be left out.
function Network:open_data(set, files, fields)
  local handle, keep = handle_of(self, "network", "network"), {}
  local list, count = list_for({ type = "synfire_data_file" }, files, "files", keep, self.context)
  call("synfire_network_open_data", handle, named(set, "data", "set"), list, count,
      struct_of("synfire_network_data_desc", fields, "fields", keep, self.context))
  return self
end

-- Adds a stage of any kind: network:add_stage{ kind = "synapse", name = "second", inputs = { "hidden" },
-- values = { n_outputs = 3, initialization = "normal" } }. An input is the name of a stage, or a table of stage, port
-- and delay: inputs = { { stage = "hidden", delay = 1 } }.
function Network:add_stage(fields)
  local handle, keep = handle_of(self, "network", "network"), {}
  if type(fields) == "table" and type(fields.inputs) == "string" then
    local own = {}
    for key, value in pairs(fields) do own[key] = value end
    own.inputs = { fields.inputs }
    fields = own
  end
  call("synfire_network_add_stage", handle, struct_of("synfire_stage_desc", fields, "stage", keep, self.context))
  return self
end

-- The number of a value of a stage, or the name of a constant: network:set_value("hidden", "surrogate", "atan").
local set_network_value = Network.set_value
local value_groups = { dtype = "dtype", reset = "reset", surrogate = "surrogate", tape = "tape", initialization = "initialization",
  schedule = "schedule" }
function Network:set_value(stage, name, value)
  local group = value_groups[name]
  if type(value) == "string" then
    if not group then refuse("LUA-TYPE", tostring(name) .. " = " .. shown(value) .. "; allowed: a number") end
    value = named(value, group, name)
  elseif type(value) == "boolean" then
    value = value and 1 or 0
  elseif getmetatable(value) == classes.surrogate then
    value = value:get_info().id
  end
  return set_network_value(self, stage, name, value)
end

-- The network of a file that save() has written. `fields` are those of synfire_network_file_desc.
function Context:network_from_file(path, fields)
  local handle, out = handle_of(self, "context", "context"), ffi.new("synfire_network[1]")
  call("synfire_network_create_from_file", handle, checked_text(path, "path"),
       struct_of("synfire_network_file_desc", fields, "network_from_file", {}), out)
  return adopt("network", out[0], self)
end

-- The same from the bytes of save_to_memory().
function Context:network_from_memory(file, fields)
  local handle, out = handle_of(self, "context", "context"), ffi.new("synfire_network[1]")
  if type(file) ~= "string" then refuse("LUA-TYPE", "file = " .. shown(file) .. "; allowed: a string of bytes") end
  call("synfire_network_create_from_memory", handle, file, #file,
       struct_of("synfire_network_file_desc", fields, "network_from_memory", {}), out)
  return adopt("network", out[0], self)
end

-- ---- Layers, synapses, optimisers -----------------------------------------------------------------------------------------------------

local Layer, Synapse, Optimizer = classes.layer, classes.synapse, classes.optimizer

-- What its model has: a list of parameters with their names, ranges and defaults.
function Layer:parameters()
  local list = {}
  local info = ffi.new("synfire_parameter_info")
  local handle = handle_of(self, "layer", "layer")
  for index = 0, 255 do
    info.struct_size = ffi.sizeof(info)
    if C.synfire_layer_get_parameter_info(handle, index, info) ~= 0 then break end
    list[index + 1] = table_of("synfire_parameter_info", info)
  end
  return list
end

-- The value of a parameter: a number, or a table of one for each neuron.
function Layer:get_parameter(name)
  local handle = handle_of(self, "layer", "layer")
  checked_text(name, "name")
  local length = 1
  for _, parameter in ipairs(self:parameters()) do
    if parameter.name == name then length = parameter.length end
  end
  local values = ffi.new("double[?]", length)
  call("synfire_layer_get_parameter", handle, name, values, length)
  if length == 1 then return values[0] end
  local list = {}
  for i = 1, length do list[i] = values[i - 1] end
  return list
end

-- Several parameters at once, by name: all of them, or none when one is refused.
function Layer:set_parameters(parameters)
  local handle, keep, list = handle_of(self, "layer", "layer"), {}, {}
  if type(parameters) ~= "table" then refuse("LUA-TYPE", "parameters = " .. shown(parameters) .. "; allowed: a table") end
  for name in pairs(parameters) do list[#list + 1] = checked_text(name, "a name of parameters") end
  table.sort(list)
  local array = ffi.new("synfire_parameter_values[?]", math.max(#list, 1))
  anchors[array] = keep
  for i, name in ipairs(list) do
    local value = parameters[name]
    if type(value) == "number" then value = { value } end
    keep[i], array[i - 1].count = checked_array(value, "double", name)
    array[i - 1].name, array[i - 1].values = name, keep[i]
  end
  call("synfire_layer_set_parameters", handle, array, #list)
  return self
end

-- A buffer for the sequences of a layer, [T, B, N]; `fields` are those of a buffer.
function Layer:sequence_buffer(fields)
  local known, own = self:get_desc(), {}
  for key, value in pairs(fields or {}) do own[key] = value end
  own.dtype = own.dtype or known.dtype
  own.shape = { known.n_steps, known.batch, known.n_neurons }
  return self.context:buffer(own)
end

-- A buffer for its spikes: bits by default, 32 neurons to a word.
function Layer:spike_buffer(fields)
  local known, own = self:get_desc(), {}
  for key, value in pairs(fields or {}) do own[key] = value end
  own.dtype = own.dtype or "bits"
  local steps, neurons = known.n_steps, known.n_neurons
  if own.dtype == "bits" then neurons = math.ceil(neurons / 32) end
  if own.dtype == "time_bits" then steps = math.ceil(steps / 32) end
  own.shape = { steps, known.batch, neurons }
  return self.context:buffer(own)
end

local function state_array(layer)
  local known = layer:get_desc()
  return known.dtype == "f64" and "double" or "float", known.batch * known.n_neurons
end

-- The state "v" or "w" of all neurons, as a new FFI array.
function Layer:read_state(name)
  local handle = handle_of(self, "layer", "layer")
  local element, n = state_array(self)
  local array = ffi.new(element .. "[?]", n)
  call("synfire_layer_read_state", handle, checked_text(name, "name"), array, ffi.sizeof(array))
  return array
end

function Layer:write_state(name, values)
  local handle = handle_of(self, "layer", "layer")
  local element, n = state_array(self)
  local array, length = checked_array(values, element, "values")
  if length ~= n then refuse("LUA-LENGTH", string.format("values has %d elements; allowed: %d", length, n)) end
  call("synfire_layer_write_state", handle, checked_text(name, "name"), array, n * ffi.sizeof(element))
  return self
end

-- The state of batch rows as a string of bytes; all rows unless `rows` has first_row and n_rows, as synfire_state_desc.
function Layer:snapshot(rows)
  return bytes_of("synfire_layer_snapshot", false, handle_of(self, "layer", "layer"),
                  struct_of("synfire_state_desc", rows, "rows", {}, self.context))
end

function Layer:restore(snapshot, rows)
  local handle = handle_of(self, "layer", "layer")
  if type(snapshot) ~= "string" then refuse("LUA-TYPE", "snapshot = " .. shown(snapshot) .. "; allowed: a string of bytes") end
  call("synfire_layer_restore", handle, struct_of("synfire_state_desc", rows, "rows", {}, self.context), snapshot, #snapshot)
  return self
end

-- The CUDA C++ of its kernels, as one text.
function Layer:source()
  return bytes_of("synfire_layer_source", true, handle_of(self, "layer", "layer"))
end

-- The element type and the number of elements of an array of a synapse, or of its gradient.
local function synapse_array(synapse, name)
  local info, base = synapse:get_info(), name:gsub("_gradient$", "")
  if base == "weights" then base = "weight" end
  for index = 0, info.n_arrays - 1 do
    local one = synapse:get_array_info(index)
    if one.name == base then
      local n = 1
      for i = 1, one.n_dimensions do n = n * one.shape[i] end
      return element_of[one.dtype], n
    end
  end
  return element_of[info.dtype], 1 -- the library refuses the name
end

-- An array of a synapse, "weight" or "bias", or its gradient, "weight_gradient": a new FFI array.
function Synapse:read(name)
  local handle = handle_of(self, "synapse", "synapse")
  local element, n = synapse_array(self, checked_text(name, "name"))
  local array = ffi.new(element .. "[?]", n)
  call("synfire_synapse_read", handle, name, array, n * ffi.sizeof(element))
  return array
end

function Synapse:write(name, values)
  local handle = handle_of(self, "synapse", "synapse")
  local element, n = synapse_array(self, checked_text(name, "name"))
  local array, length = checked_array(values, element, "values")
  if length ~= n and n > 1 then refuse("LUA-LENGTH", string.format("values has %d elements; allowed: %d", length, n)) end
  call("synfire_synapse_write", handle, name, array, length * ffi.sizeof(element))
  return self
end

-- A number of the optimiser (member nil) or an array of a member, which count from 0, into an FFI array, which is returned.
function Optimizer:read(member, name, array)
  local handle = handle_of(self, "optimizer", "optimizer")
  local element, n = measure(array)
  if not element then refuse("LUA-TYPE", "array = " .. shown(array) .. "; allowed: an FFI array") end
  call("synfire_optimizer_read", handle, checked_number(member or -1, "int32_t", "member"), checked_text(name, "name"), array,
       n * ffi.sizeof(element))
  return array
end

function Optimizer:write(member, name, array)
  local handle = handle_of(self, "optimizer", "optimizer")
  local element, n = measure(array)
  if not element then refuse("LUA-TYPE", "array = " .. shown(array) .. "; allowed: an FFI array") end
  call("synfire_optimizer_write", handle, checked_number(member or -1, "int32_t", "member"), checked_text(name, "name"), array,
       n * ffi.sizeof(element))
  return self
end

-- ---- Models and surrogates of the program's own ---------------------------------------------------------------------------------------

for _, kind in ipairs({ "model", "surrogate" }) do
  -- Compiles a text: context:load_model{ name = "synaptic_lif", text = ... }, or `file`. It is used wherever a name is.
  Context["load_" .. kind] = function(self, fields)
    local handle, out, keep = handle_of(self, "context", "context"), ffi.new("synfire_" .. kind .. "[1]"), {}
    local desc = struct_of("synfire_load_desc", fields, "load_" .. kind, keep)
    if fields and fields.text and not fields.text_bytes then desc.text_bytes = #fields.text end
    call(kind == "model" and "synfire_model_load" or "synfire_surrogate_load", handle, desc, out)
    return adopt(kind, out[0], self)
  end

  -- Its number, name, states and parameters, and how long loading took.
  classes[kind].get_info = function(self)
    local info = ffi.new("synfire_load_info")
    info.struct_size = ffi.sizeof(info)
    call(kind == "model" and "synfire_model_get_info" or "synfire_surrogate_get_info", handle_of(self, kind, kind), info)
    return table_of("synfire_load_info", info)
  end

  -- Compares its derivatives with differences, at random points.
  classes[kind].check = function(self, seed, n_samples)
    local report = ffi.new("synfire_check_report")
    report.struct_size = ffi.sizeof(report)
    call(kind == "model" and "synfire_model_check" or "synfire_surrogate_check", handle_of(self, kind, kind),
         checked_number(seed or 0, "uint64_t", "seed"), checked_number(n_samples or 1000, "uint64_t", "n_samples"), report)
    return table_of("synfire_check_report", report)
  end

  -- The number of a built-in or added model, or surrogate, by its name.
  synfire[kind .. "_id"] = function(name)
    synfire.load()
    local id = ffi.new("int32_t[1]")
    call(kind == "model" and "synfire_model_id" or "synfire_surrogate_id", checked_text(name, "name"), id)
    return id[0]
  end
end

-- ---- The module ---------------------------------------------------------------------------------------------------------------------------

-- The version of the library, and that of its ABI, such as 0.3.
function synfire.version()
  synfire.load()
  local abi = C.synfire_abi_version()
  return ffi.string(C.synfire_version_string()), math.floor(abi / 65536) .. "." .. abi % 65536
end

-- The memory that the library holds in this process, in bytes, by kinds of memory and of objects. A program's own functions
-- for memory (synfire_memory_set_functions with `allocate` and `release`) and for messages (synfire_log_set_function with
-- `log` and `level`) are not offered: a callback into Lua may come on any thread. Nor are tensors of other libraries:
-- synfire_buffer_from_dlpack with its `tensor`, which may be `unversioned`, and synfire_buffer_to_dlpack, also `with_sign`.
function synfire.memory_use()
  synfire.load()
  local answer = ffi.new("synfire_memory_use")
  answer.struct_size = ffi.sizeof(answer)
  call("synfire_memory_get_use", answer)
  return table_of("synfire_memory_use", answer)
end

-- The name of a status in C.
function synfire.status_name(status)
  synfire.load()
  return ffi.string(C.synfire_status_name(checked_number(status, "int32_t", "status")))
end

-- The functions of C under their own names, for what is not here, and the handle of an object for them.
function synfire.raw(object)
  synfire.load()
  if object == nil then return C end
  return handle_of(object, getmetatable(object) and getmetatable(object).name or "context", "object")
end

-- How many arrays the library has borrowed and not given back.
function synfire.n_lent()
  take_back()
  local n = 0
  for _ in pairs(lent) do n = n + 1 end
  return n
end

synfire.classes = classes
synfire.Error = Error

return synfire
