"""Graphs on servers: a mirror of the index's own graph, and live graphs that are only read.

`ServedGraphs` has the connections of one index. Graph databases speak Bolt (`bolt_connection`),
triple stores SPARQL (`sparql_endpoint`).
"""
