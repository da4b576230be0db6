"""The command line, coverage, the site. Nothing imports this room but the workflow."""
