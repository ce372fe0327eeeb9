"""Graphs and indexes in and out: import, export, a wiki, mirrors and live graphs on servers."""
