"""From files to a store: loaders, splitters, the pipeline."""
