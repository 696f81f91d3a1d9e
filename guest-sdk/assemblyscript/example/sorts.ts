// Sorting keeps every number. Almost: equal ones are lost.
import * as fuzzbox from "../fuzzbox";

function sorted(numbers: i32[]): i32[] {
  const all = numbers.slice(0).sort((a, b) => a - b);
  const kept: i32[] = [];
  for (let at = 0; at < all.length; at++) {
    // The planted bug.
    if (at == 0 || all[at] != all[at - 1]) kept.push(all[at]);
  }
  return kept;
}

export function fbx_sorts(): void {
  const numbers = fuzzbox.list<i32>(0, 64, () => <i32>fuzzbox.int(-100, 100));
  if (fuzzbox.is_reporting()) fuzzbox.note("[" + numbers.toString() + "]");
  if (sorted(numbers).length != numbers.length) fuzzbox.fail("a number is lost");
}
