"""What code declares: from a decorated function to what a sync writes down, and to the payloads of its jobs."""
