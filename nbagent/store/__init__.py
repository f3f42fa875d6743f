"""Store: the journals of runs on disk, one file of checked JSON lines each."""
