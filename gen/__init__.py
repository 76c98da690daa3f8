"""The generator: operation templates in, sources out."""
