"""The page of one run, with its files, outputs and context packages."""
