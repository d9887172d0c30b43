"""Topic files, index, versions, directories, projects, and the watch on them."""
