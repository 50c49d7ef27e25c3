-- Routers: how busy they are, and what they are.

CREATE STREAMING TABLE cpu_readings
COMMENT 'CPU and memory of every router, every 2 seconds'
TBLPROPERTIES ('priority' = '3', 'target_lag' = '10s')
AS SELECT measured_at, router, cpu_percent, memory_percent
FROM STREAM router_cpu_feed;

-- Fresh only up to the last dump: nobody can know of routers added since.
CREATE STREAMING TABLE inventory
COMMENT 'All routers with their make and site, once per dump'
TBLPROPERTIES ('target_lag' = '90s')
AS SELECT dumped_at, router, site, vendor, model, os_version, interfaces
FROM STREAM router_inventory_feed;

-- The minute under way is recomputed at each update; those before it are final.
CREATE MATERIALIZED VIEW cpu_per_minute
COMMENT 'CPU of each router by the minute'
TBLPROPERTIES ('priority' = '3', 'target_lag' = '15s')
AS SELECT
  date_trunc('minute', measured_at) AS minute,
  router,
  count(cpu_percent) AS readings,
  sum(cpu_percent) AS total_percent,
  avg(cpu_percent) AS mean_percent,
  max(cpu_percent) AS peak_percent
FROM cpu_readings
GROUP BY date_trunc('minute', measured_at), router;

-- Each reading with what the next dump says about its router: no staler than the dump itself, and complete.
CREATE MATERIALIZED VIEW cpu_by_model
COMMENT 'CPU readings of the minute before each inventory dump, with make and site of the router'
TBLPROPERTIES ('target_lag' = '90s', 'lookback' = '60s')
AS SELECT i.dumped_at, c.measured_at, c.router, i.site, i.model, i.os_version, c.cpu_percent
FROM cpu_readings AS c
JOIN inventory AS i
  ON i.router = c.router
  AND i.dumped_at >= c.measured_at
  AND i.dumped_at < c.measured_at + INTERVAL 60 SECONDS;

-- A view over a view that is itself revised: both are read as of the same moment.
CREATE MATERIALIZED VIEW busiest_routers
COMMENT 'The ten busiest routers of each day'
TBLPROPERTIES ('target_lag' = '20s')
AS SELECT day, place, router, mean_percent, peak_percent
FROM (
  SELECT
    date_trunc('day', minute) AS day,
    row_number() OVER (
      PARTITION BY date_trunc('day', minute)
      ORDER BY sum(total_percent) / sum(readings) DESC, router
    ) AS place,
    router,
    sum(total_percent) / sum(readings) AS mean_percent,
    max(peak_percent) AS peak_percent
  FROM cpu_per_minute
  GROUP BY date_trunc('day', minute), router
)
WHERE place <= 10;
