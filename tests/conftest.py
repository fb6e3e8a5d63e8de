"""Its being here puts this folder on the import path, so that tests in subfolders can import ``helpers``."""
