"""freshtide.yml: the settings of a project, and among them how it schedules.

What is set for one feed, table or flow is written with that, and read in its folder. What a scheduler does with its
settings is `freshtide.scheduling`.
"""
