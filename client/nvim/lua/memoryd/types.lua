---@meta

---@alias memoryd.Type 'user'|'feedback'|'project'|'reference'
---@alias memoryd.Scope 'project'|'group'|'user'|'team'|'agent'

---What the daemon, or the way to it, answers instead of a result.
---@class memoryd.Failure
---@field message string for people, one line
---@field hint string what to type or change next
---@field kind string `not-running`, `denied`, `timed-out`, `broken`, or the daemon's own kind

---@alias memoryd.Callback fun(failure: memoryd.Failure?, result: table?)

---@class memoryd.Memory
---@field path string
---@field name string
---@field description string
---@field type memoryd.Type
---@field scope memoryd.Scope
---@field age string
---@field stale boolean
---@field file? string
---@field content? string

---@class memoryd.Candidate a statement that waits in the inbox
---@field id integer
---@field type memoryd.Type
---@field text string
---@field around string
---@field reason string
---@field said string
---@field retires boolean
---@field against { file: string, text: string }[]

---@class memoryd.Event
---@field kind string
---@field project string

---@class memoryd.Dream
---@field number integer
---@field project string
---@field step string
---@field phase string
---@field usd number

---What events have told so far.
---@class memoryd.State
---@field dreams table<integer, memoryd.Dream>
---@field inbox integer
