-- The changes as they came. The flow of each table also keeps a dimension: dim_planes, dim_customers, dim_airports, dim_fares.
CREATE STREAMING TABLE plane_changes TBLPROPERTIES ('flow' = 'planes') AS SELECT * FROM STREAM planes_feed;

CREATE STREAMING TABLE customer_changes TBLPROPERTIES ('flow' = 'customers') AS SELECT * FROM STREAM customers_feed;

CREATE STREAMING TABLE airport_changes TBLPROPERTIES ('flow' = 'airports') AS SELECT * FROM STREAM airports_feed;

CREATE STREAMING TABLE fare_changes TBLPROPERTIES ('flow' = 'fares') AS SELECT * FROM STREAM fares_feed;
