// Closures, generators, exceptions, regular expressions, typed arrays and big integers.
function* primes() { const known = []; for (let n = 2; ; n++) if (known.every((p) => n % p)) { known.push(n); yield n; } }
const found = []; for (const prime of primes()) { found.push(prime); if (found.length === 1500) break; }
print(found[1499], found.reduce((a, b) => a + b));
class Shape { constructor(sides) { this.sides = sides; } get area() { return this.sides.reduce((a, b) => a * b, 1); } }
const shapes = Array.from({ length: 50 }, (_, i) => new Shape([i % 7, i % 5 + 1]));
print(JSON.stringify(shapes.map((shape) => shape.area).sort((a, b) => b - a).slice(0, 5)));
let caught = 0;
for (let i = 0; i < 100_000; i++) { try { if (i % 3) throw new RangeError("at " + i); null.x; } catch (error) { caught += error instanceof TypeError ? 1 : error.message.length; } }
print(caught, "The quick brown fox".replace(/(\w)(\w*)/g, (_, a, b) => a.toUpperCase() + [...b].reverse().join("")));
const bytes = new Uint8Array(256).map((_, i) => i * 37); print(bytes.join("").length, (3n ** 400n % 10n ** 30n).toString());
print("end");
