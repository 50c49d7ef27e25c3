-- Links: traffic, latency and routes.

CREATE STREAMING TABLE interface_counters
COMMENT 'Bytes in and out of every interface, every 5 seconds'
TBLPROPERTIES ('priority' = '2', 'target_lag' = '15s')
AS SELECT counted_at, router, interface, in_bytes, out_bytes
FROM STREAM interface_traffic_feed;

CREATE STREAMING TABLE probes
COMMENT 'Round trips from every router to four places, every 10 seconds'
TBLPROPERTIES ('target_lag' = '20s')
AS SELECT probed_at, router, target, rtt_ms, lost
FROM STREAM probe_latency_feed;

CREATE STREAMING TABLE route_changes
COMMENT 'Routes announced (A) and withdrawn (W)'
TBLPROPERTIES ('target_lag' = '20s')
AS SELECT received_at, router, action, peer_as, prefix, as_path
FROM STREAM bgp_updates_feed;

-- Only complete buckets are shown, so a row never changes: what reads it can append.
CREATE MATERIALIZED VIEW interface_load
COMMENT 'Megabits per second of each interface, in closed buckets of 10 seconds'
TBLPROPERTIES ('priority' = '2', 'target_lag' = '30s', 'emit' = 'closed')
AS SELECT
  window.start AS bucket,
  router,
  interface,
  sum(in_bytes) * 8 / 10 / 1e6 AS in_mbps,
  sum(out_bytes) * 8 / 10 / 1e6 AS out_mbps
FROM interface_counters
GROUP BY window(counted_at, '10 seconds'), router, interface;

CREATE MATERIALIZED VIEW latency_per_minute
COMMENT 'Round trips and losses of each router by the minute'
TBLPROPERTIES ('priority' = '2', 'target_lag' = '25s')
AS SELECT
  date_trunc('minute', probed_at) AS minute,
  router,
  percentile(rtt_ms, 0.5) AS median_ms,
  max(rtt_ms) AS longest_ms,
  count_if(lost) AS lost,
  count(*) AS sent
FROM probes
GROUP BY date_trunc('minute', probed_at), router;

CREATE MATERIALIZED VIEW route_flaps
COMMENT 'Prefixes that a router lost more than once within a minute'
TBLPROPERTIES ('target_lag' = '30s')
AS SELECT date_trunc('minute', received_at) AS minute, router, prefix, count(*) AS withdrawals
FROM route_changes
WHERE action = 'W'
GROUP BY date_trunc('minute', received_at), router, prefix
HAVING count(*) > 1;
