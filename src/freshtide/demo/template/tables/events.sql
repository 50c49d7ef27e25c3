-- Events: what the routers say, and what it means.

CREATE STREAMING TABLE log_messages
COMMENT 'What the routers log, every 2 seconds'
TBLPROPERTIES ('priority' = '3', 'target_lag' = '10s')
AS SELECT logged_at, router, severity, facility, message
FROM STREAM syslog_feed;

CREATE STREAMING TABLE alerts
COMMENT 'Links that go down, degrade and come back'
TBLPROPERTIES ('priority' = '3', 'target_lag' = '15s')
AS SELECT raised_at, router, interface, state
FROM STREAM link_alerts_feed;

-- Row by row: only what is new is computed.
CREATE MATERIALIZED VIEW errors
COMMENT 'Log messages of severity error and above'
TBLPROPERTIES ('priority' = '3', 'target_lag' = '15s')
AS SELECT logged_at, router, severity, facility, message
FROM log_messages
WHERE severity <= 3;

CREATE MATERIALIZED VIEW errors_per_minute
COMMENT 'Errors of each router by the minute'
TBLPROPERTIES ('priority' = '3', 'target_lag' = '20s')
AS SELECT date_trunc('minute', logged_at) AS minute, router, count(*) AS errors, min(severity) AS worst
FROM errors
GROUP BY date_trunc('minute', logged_at), router;

-- A pair appears with the later of the two, so old pairs never change, and with the lookback only the last
-- 10 seconds are read again. Alerts may be 5 seconds late, and this view waits for them.
CREATE MATERIALIZED VIEW alert_errors
COMMENT 'Errors and link alerts of the same router within 10 seconds of each other'
TBLPROPERTIES ('priority' = '4', 'target_lag' = '20s', 'lookback' = '10s')
AS SELECT
  greatest(e.logged_at, a.raised_at) AS seen_at,
  e.router,
  a.interface,
  a.state,
  a.raised_at,
  e.logged_at,
  e.message
FROM errors AS e
JOIN alerts AS a
  ON a.router = e.router
  AND a.raised_at BETWEEN e.logged_at - INTERVAL 10 SECONDS AND e.logged_at + INTERVAL 10 SECONDS
WHERE a.state <> 'up';

-- Two views whose last minute is still being revised, joined as of one moment.
CREATE MATERIALIZED VIEW network_health
COMMENT 'How each router is doing, by the minute'
TBLPROPERTIES ('priority' = '5', 'target_lag' = '20s')
AS SELECT
  c.minute,
  c.router,
  c.mean_percent,
  c.peak_percent,
  coalesce(e.errors, 0) AS errors,
  CASE
    WHEN c.peak_percent >= 90 AND e.errors >= 5 THEN 'bad'
    WHEN c.peak_percent >= 90 OR e.errors >= 5 THEN 'strained'
    ELSE 'good'
  END AS health
FROM cpu_per_minute AS c
LEFT JOIN errors_per_minute AS e ON e.minute = c.minute AND e.router = c.router;
