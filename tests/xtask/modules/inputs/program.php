<?php
// Closures, generators, exceptions, references, regular expressions and sorting.
function fibonacci() { [$a, $b] = [0, 1]; while (true) { yield $a; [$a, $b] = [$b, $a + $b]; } }
foreach (fibonacci() as $i => $value) { if ($i > 40) break; }
echo $value, "\n";
$words = preg_split('/\W+/', 'The quick brown fox jumps over the lazy dog, and the dog sleeps.');
$counts = array_count_values(array_map('strtolower', $words));
arsort($counts);
echo json_encode(array_slice($counts, 0, 4)), "\n";
$caught = 0;
for ($i = 0; $i < 300_000; $i++) {
    try { if ($i % 3 == 0) throw new DomainException("number $i"); $caught += intdiv($i, $i % 5); }
    catch (DivisionByZeroError $error) { $caught -= 1; }
    catch (DomainException $error) { $caught += strlen($error->getMessage()); }
    finally { $caught ^= 1; }
}
echo $caught, "\n", md5(serialize($counts)), "\n", sprintf("%.12f %08b %'*10s", M_PI, 77, 'x'), "\n";
usort($words, fn($a, $b) => strlen($a) <=> strlen($b) ?: strcmp($a, $b));
echo implode(' ', $words), "\nend\n";
