"""Models from models: joints locked, parts attached, payloads, other names."""
