"""What every area uses: errors, events, config, paths, time stamps."""
