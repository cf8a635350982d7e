"""Pictures for papers and notebooks, and a page to reroot a model on."""
