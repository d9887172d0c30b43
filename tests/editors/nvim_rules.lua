-- The rules alone: where the socket is, and what a text is called.
local s = dofile(os.getenv('MEMORYD_TEST_SCRIPTS') .. '/nvim_script.lua')
local location = require('memoryd.location')
local naming = require('memoryd.naming')

local path = os.getenv('MEMORYD_TEST_FOLDER') .. '/cases.json'
local cases = vim.json.decode(table.concat(vim.fn.readfile(path), '\n'))

s.result(
  'sockets',
  vim.tbl_map(function(case)
    local user = { uid = case.uid, homedir = case.homedir }
    local found, problem = location.found(case.environ, user, case.platform, function(wanted)
      return vim.tbl_contains(case.there, wanted)
    end)
    return { path = found, problem = problem }
  end, cases.sockets)
)

s.result(
  'texts',
  vim.tbl_map(function(text)
    return { naming.name_for(text), naming.description_for(text) }
  end, cases.texts)
)
s.finish()
