"""Exact MAP on M+: minimum cut, enumeration, and search."""
