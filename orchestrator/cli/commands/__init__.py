"""The commands of `debate-hall`, by what people come for. Each parses, calls one function and prints."""
