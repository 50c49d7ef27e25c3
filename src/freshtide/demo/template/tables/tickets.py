"""Tickets, in Python: functions from DataFrames to a DataFrame. Their parameters name what they read."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from freshtide import materialized_view, table


@table(feed="tickets_feed", target_lag="40s", comment="What happened to the tickets of the help desk")
def ticket_events(rows: DataFrame) -> DataFrame:
    return rows.select("changed_at", "ticket", "router", "status", "summary")


# The state of a ticket may date from any time, so this is computed in full; tickets are few.
@materialized_view(maintain="full", target_lag="45s", comment="Tickets that are not closed, as they are now")
def open_tickets(ticket_events: DataFrame) -> DataFrame:
    newest_first = Window.partitionBy("ticket").orderBy(sf.col("changed_at").desc(), "status")
    newest = ticket_events.withColumn("place", sf.row_number().over(newest_first)).where("place = 1")
    return newest.where("status <> 'closed'").select("ticket", "router", "status", "summary", "changed_at")
