"""Prompts of the user's own: a folder of files that replace built-in ones, and its command."""
