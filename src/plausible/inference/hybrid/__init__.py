"""Tables and numbers together: conditional linear Gaussian models."""
