-- Each flight with the plane as it was when it departed.
CREATE MATERIALIZED VIEW flights_with_planes
AS SELECT f.departed_at, f.flight, f.origin, f.destination, p.model, p.seats
FROM flights f
JOIN dim_planes p
  ON f.tail = p.tail AND f.departed_at >= p.valid_from AND (p.valid_to IS NULL OR f.departed_at < p.valid_to);

-- Revenue by what customers were when they booked, and by what the fare is called today.
CREATE MATERIALIZED VIEW revenue_per_day
AS SELECT date_trunc('day', b.booked_at) AS day, c.segment, t.cabin, count(*) AS bookings, sum(b.price) AS revenue
FROM bookings b
JOIN dim_customers c
  ON b.customer = c.customer AND b.booked_at >= c.valid_from AND (c.valid_to IS NULL OR b.booked_at < c.valid_to)
LEFT JOIN dim_fares t ON b.fare = t.fare
GROUP BY 1, 2, 3;

-- A dimension in two roles.
CREATE MATERIALIZED VIEW routes
TBLPROPERTIES ('maintain' = 'full')
AS SELECT o.city AS origin, d.city AS destination, count(*) AS flights, sum(f.minutes) AS minutes
FROM flights f
LEFT JOIN dim_airports o ON f.origin = o.airport
LEFT JOIN dim_airports d ON f.destination = d.airport
GROUP BY o.city, d.city;

-- Two facts, drilled across: bookings for the seats of each flight.
CREATE MATERIALIZED VIEW load_factors
TBLPROPERTIES ('maintain' = 'full')
AS SELECT f.departed_at, f.flight, f.model, f.seats, coalesce(b.bookings, 0) AS bookings
FROM flights_with_planes f
LEFT JOIN (SELECT flight, count(*) AS bookings FROM bookings GROUP BY flight) b ON f.flight = b.flight;

-- Nothing but a dimension: it changes when that does.
CREATE MATERIALIZED VIEW customers_now
AS SELECT segment, count(*) AS customers FROM dim_customers WHERE is_current GROUP BY segment;
