"""The process: start, wire, stop; its sockets, its log, its supervisor."""
