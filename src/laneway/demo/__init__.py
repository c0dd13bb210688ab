"""The first thing `laneway dev` shows: jobs of two tenants pushed through the functions, told step by step."""

from laneway.demo.story import tell_story

__all__ = ["tell_story"]
