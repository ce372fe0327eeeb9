"""The routes below /api/v1, a file for each of the things they are about."""
