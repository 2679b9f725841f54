"""The page where somebody says how they want to be reached; what is sent is the channel's."""
