import collections, decimal, hashlib, json, random, re, zlib

# Numbers, text, objects, generators and exceptions, with modules in C and in Python.
def primes():
    known = []
    n = 2
    while True:
        if all(n % p for p in known):
            known.append(n)
            yield n
        n += 1

class Shape:
    def __init__(self, name, **sides):
        self.name, self.sides = name, sides
    def __repr__(self):
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in sorted(self.sides.items()))})"

generator = primes()
print([next(generator) for _ in range(1200)][-1])
print(decimal.Decimal(2).sqrt(decimal.Context(prec=60)))
random.seed(7)
shapes = [Shape(random.choice(["box", "bar"]), a=random.random(), b=i) for i in range(50)]
print(shapes[13], collections.Counter(shape.name for shape in shapes))
text = json.dumps([shape.sides for shape in shapes])
print(hashlib.sha256(text.encode()).hexdigest(), len(zlib.compress(text.encode())))
print(re.findall(r"(\w+)\s*=\s*(\d+)", "x = 1, why=22, z =333")) 
errors = 0
for i in range(100_000):
    try:
        {}[i] if i % 3 else [][i]
    except LookupError as error:
        errors += isinstance(error, KeyError)
print(errors, 3 ** 500 % 10 ** 40)
print("end")
