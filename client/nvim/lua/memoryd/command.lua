---`:Memory`: its subcommands and their completion.
local config = require('memoryd.config')

local M = {}

---@class memoryd.Invocation
---@field fargs string[]
---@field range integer
---@field line1 integer
---@field line2 integer
---@field bang boolean

---@class memoryd.Subcommand
---@field run fun(words: string[], invocation: memoryd.Invocation)
---@field complete? fun(): string[]

---The text of a visual selection, or of whole lines if the range is not the last selection.
---@param invocation memoryd.Invocation
---@return string
local function selected(invocation)
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local mode = vim.fn.visualmode()
  local is_selection = from[2] == invocation.line1 and to[2] == invocation.line2
  if not is_selection or mode == 'V' or mode == '' then
    local first, last = invocation.line1 - 1, invocation.line2
    return table.concat(vim.api.nvim_buf_get_lines(0, first, last, false), '\n')
  end
  if vim.fn.exists('*getregion') == 1 then
    return table.concat(vim.fn.getregion(from, to, { type = mode }), '\n')
  end
  local kept, kind = vim.fn.getreg('"', 1, true), vim.fn.getregtype('"')
  vim.cmd('silent noautocmd normal! gv""y')
  local text = vim.fn.getreg('"')
  vim.fn.setreg('"', kept, kind)
  return text
end

---@param words string[] such as `type=feedback`
---@return table<string, string>? filter
---@return string? problem
local function filter_in(words)
  local filter = {}
  for _, word in ipairs(words) do
    local name, value = word:match('^(%a+)=(%a+)$')
    local known = name == 'type' and config.types or name == 'scope' and config.scopes or {}
    if not vim.tbl_contains(known, value) then
      return nil, ('`%s` is not a filter; try type=feedback or scope=user'):format(word)
    end
    filter[name] = value
  end
  return filter
end

---@return string[]
local function filters()
  local words = {}
  for _, kind in ipairs(config.types) do
    words[#words + 1] = 'type=' .. kind
  end
  for _, scope in ipairs(config.scopes) do
    words[#words + 1] = 'scope=' .. scope
  end
  return words
end

---@type table<string, memoryd.Subcommand>
local subcommands = {
  recall = {
    run = function(words)
      require('memoryd').recall(table.concat(words, ' '))
    end,
  },
  list = {
    run = function(words)
      local filter, problem = filter_in(words)
      if not filter then
        require('memoryd.ui').notify(problem or '', vim.log.levels.ERROR)
        return
      end
      require('memoryd').list(filter)
    end,
    complete = filters,
  },
  remember = {
    run = function(words, invocation)
      local text = table.concat(words, ' ')
      if text == '' and invocation.range > 0 then
        text = selected(invocation)
      end
      require('memoryd').remember(text, { anyway = invocation.bang })
    end,
  },
  forget = {
    run = function(words)
      require('memoryd').forget(words[1])
    end,
    complete = function()
      local session = require('memoryd.session')
      session.follow()
      return session.files
    end,
  },
  dream = {
    run = function(words)
      require('memoryd').dream(words[1])
    end,
    complete = function()
      return require('memoryd.dream').actions
    end,
  },
  inbox = {
    run = function()
      require('memoryd').inbox()
    end,
  },
}

---@return string[]
local function names()
  local found = vim.tbl_keys(subcommands)
  table.sort(found)
  return found
end

---@param invocation memoryd.Invocation
function M.run(invocation)
  local words = vim.list_extend({}, invocation.fargs)
  local name = table.remove(words, 1)
  local subcommand = subcommands[name]
  if subcommand then
    subcommand.run(words, invocation)
    return
  end
  local said = name and ('there is no :Memory %s'):format(name) or 'say what to do'
  local problem = ('%s; try :Memory %s'):format(said, table.concat(names(), '|'))
  require('memoryd.ui').notify(problem, vim.log.levels.ERROR)
end

---@param lead string
---@param line string
---@param cursor integer
---@return string[]
function M.complete(lead, line, cursor)
  local before = line:sub(1, cursor)
  local name = before:match('Memory!?%s+(%a+)%s')
  local offered = {}
  if not name then
    offered = names()
  elseif subcommands[name] and subcommands[name].complete then
    offered = subcommands[name].complete()
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, offered)
end

return M
