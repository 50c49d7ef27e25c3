"""freshtide.yml: the settings of a project, and among them how it schedules."""
