-- One row a person, under one of their names (reports.md, "People"). Users need no FINAL, and name the account: the condition reaches every table below.
-- Names that no alias ever touched are their own person and cost one look into identities_flat; the others are put together when they are read:
-- each trait and column by its newest write, its number with its text.
CREATE VIEW IF NOT EXISTS people AS
SELECT
  account_id,
  name AS person,
  first_seen,
  last_seen,
  total_revenue,
  order_count,
  last_order_at,
  email,
  phone,
  first_name,
  last_name,
  gender,
  birthday,
  national_id,
  city,
  region,
  country,
  language,
  timezone,
  push_opt_in,
  email_opt_in,
  sms_opt_in,
  traits,
  trait_numbers
FROM profiles AS p FINAL
LEFT ANTI JOIN (SELECT account_id, name FROM identities_flat FINAL) AS i ON p.account_id = i.account_id AND p.name = i.name
UNION ALL
SELECT
  account_id,
  person,
  first_seen,
  last_seen,
  total_revenue,
  order_count,
  last_order_at,
  email,
  phone,
  first_name,
  last_name,
  gender,
  birthday,
  national_id,
  city,
  region,
  country,
  language,
  timezone,
  push_opt_in,
  email_opt_in,
  sms_opt_in,
  mapApply((key, write) -> (key, write.2), writes) AS traits,
  mapApply((key, write) -> (key, write.4), mapFilter((key, write) -> write.3, writes)) AS trait_numbers
FROM (
  SELECT
    p.account_id AS account_id,
    i.canonical AS person,
    min(p.first_seen) AS first_seen,
    max(p.last_seen) AS last_seen,
    sum(p.total_revenue) AS total_revenue,
    sum(p.order_count) AS order_count,
    max(p.last_order_at) AS last_order_at,
    argMax(p.email, p._stamps['email']) AS email,
    argMax(p.phone, p._stamps['phone']) AS phone,
    argMax(p.first_name, p._stamps['first_name']) AS first_name,
    argMax(p.last_name, p._stamps['last_name']) AS last_name,
    argMax(p.gender, p._stamps['gender']) AS gender,
    argMax(p.birthday, p._stamps['birthday']) AS birthday,
    argMax(p.national_id, p._stamps['national_id']) AS national_id,
    argMax(p.city, p._stamps['city']) AS city,
    argMax(p.region, p._stamps['region']) AS region,
    argMax(p.country, p._stamps['country']) AS country,
    argMax(p.language, p._stamps['language']) AS language,
    argMax(p.timezone, p._stamps['timezone']) AS timezone,
    argMax(p.push_opt_in, p._stamps['push_opt_in']) AS push_opt_in,
    argMax(p.email_opt_in, p._stamps['email_opt_in']) AS email_opt_in,
    argMax(p.sms_opt_in, p._stamps['sms_opt_in']) AS sms_opt_in,
    maxMap(mapApply((key, value) -> (key, (p._stamps[key], value, mapContains(p.trait_numbers, key), p.trait_numbers[key])), p.traits)) AS writes
  FROM profiles AS p FINAL
  INNER JOIN (SELECT account_id, name, canonical FROM identities_flat FINAL) AS i ON p.account_id = i.account_id AND p.name = i.name
  GROUP BY account_id, person
);
