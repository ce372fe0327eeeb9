"""Request and response models that several routes share."""
