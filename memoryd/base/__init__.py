"""Words everybody uses: errors, events, config, paths, time stamps."""
