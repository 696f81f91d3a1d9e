CREATE TABLE planet(id INTEGER PRIMARY KEY, name TEXT NOT NULL, mass REAL, moons INTEGER);
INSERT INTO planet(name, mass, moons) VALUES ('mercury', 0.055, 0), ('venus', 0.815, 0), ('earth', 1.0, 1),
  ('mars', 0.107, 2), ('jupiter', 317.8, 95), ('saturn', 95.2, 146), ('uranus', 14.5, 28), ('neptune', 17.1, 16);
CREATE INDEX by_mass ON planet(mass DESC);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
  SELECT count(*), sum(i * i), group_concat(i % 7) FROM n WHERE i % 100 = 0;
SELECT name, round(mass, 2), rank() OVER (ORDER BY moons DESC) FROM planet ORDER BY mass LIMIT 5;
SELECT upper(substr(name, 1, 1)) || substr(name, 2) FROM planet WHERE name LIKE '%u%' OR moons BETWEEN 1 AND 2;
UPDATE planet SET mass = mass * 2 WHERE moons > (SELECT avg(moons) FROM planet);
SELECT printf('%.3f', total(mass)), min(name), max(name) FROM planet;
INSERT OR IGNORE INTO planet(id, name) VALUES (1, 'again');
SELECT hex(zeroblob(4)), typeof(1.5), julianday('2000-01-01');
SELECT 'end';
