-- The base table: every row that arrives.
CREATE STREAMING TABLE orders
COMMENT 'Orders as they arrive'
AS SELECT order_id, ordered_at, customer, amount
FROM STREAM orders_feed;

-- Each hour is recomputed as long as orders for it can come in.
CREATE MATERIALIZED VIEW orders_per_hour
TBLPROPERTIES ('priority' = '2', 'target_lag' = '2h')
AS SELECT date_trunc('hour', ordered_at) AS hour, count(*) AS orders, sum(amount) AS revenue
FROM orders
GROUP BY date_trunc('hour', ordered_at);

-- Row by row: only what is new is computed.
CREATE MATERIALIZED VIEW large_orders
AS SELECT order_id, ordered_at, customer, amount
FROM orders
WHERE amount >= 100;
