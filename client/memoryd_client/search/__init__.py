"""Search memories as you type: keys, matching and drawing apart from the terminal."""
