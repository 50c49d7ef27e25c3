"""How things are written, whoever writes them: YAML that knows its lines, variables, names, sizes, checks of models.

Nothing in here knows what a feed, a table or a flow consists of: that is said in the folder of each.
"""
