"""Questions before retrieval: their scope, their parts, the answer mode, follow-ups, keywords."""
