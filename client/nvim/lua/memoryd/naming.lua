---How a plain text gets a name and a description, as `memoryd remember` does it.
local M = {}

local NAME_CHARACTERS = 60
local DESCRIPTION_CHARACTERS = 150
local CUT = '…'

---@param text string
---@return string
function M.one_line(text)
  return vim.trim((text:gsub('[%c%s]+', ' ')))
end

---@param text string
---@param characters integer
---@return string
local function cut_at_word(text, characters)
  if vim.fn.strchars(text) <= characters then
    return text
  end
  local head = vim.fn.strcharpart(text, 0, characters - 1)
  return (head:match('^(.*%S)%s') or head) .. CUT
end

---@param text string
---@return string
local function without_ends(text)
  return (text:gsub('^[ .,:;-]+', ''):gsub('[ .,:;-]+$', ''))
end

---The first sentence of a text, cut at a word.
---@param text string
---@return string
function M.name_for(text)
  text = vim.trim(text)
  local sentence = text:match('^(.-[.!?:;])%s') or text
  if not sentence:find('%S%s+%S') then
    sentence = text
  end
  local name = without_ends(M.one_line(sentence))
  if vim.fn.strchars(name) > NAME_CHARACTERS then
    name = without_ends((cut_at_word(name, NAME_CHARACTERS):gsub(CUT .. '$', ''))) .. CUT
  end
  return name ~= '' and name or 'note'
end

---The first line of a text, cut at a word.
---@param text string
---@return string
function M.description_for(text)
  local first = vim.trim(text):match('^[^\n]*')
  return cut_at_word(M.one_line(first), DESCRIPTION_CHARACTERS)
end

return M
