"""The same work on FABER and on its peers, one after another, in rounds."""
