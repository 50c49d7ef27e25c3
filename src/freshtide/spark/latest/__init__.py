"""Tables in which each row supersedes the one before it with the same key, and the views over them.

A base table of this kind is served by a stream of its own: rows come in from files, sockets or generators and wait in a
queue in which newer ones take the places of older ones (freshtide.latest). An update takes a micro-batch of keys or
windows out of the queue, puts them through the table's query on Spark and merges what comes out into the table. The
queue and what waits in it belong to `freshtide.latest`, and what is on disk to `storage`.
"""
