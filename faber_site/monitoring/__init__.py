"""How the site is watched: probes, metrics, logs without secrets."""
