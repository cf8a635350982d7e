"""Proofs of bounds that a stranger can check, and the checker."""

from mapreroot.certificates.verify import Verification, verify

__all__ = ["Verification", "verify"]
