"""The page of one run, its files, outputs and context packages; its requests are the desk's."""
