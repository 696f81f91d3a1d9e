// An assertion, and what the library throws.
const numbers: StaticArray<i32> = [1, 2, 3];

function parse(data: usize, size: i32): i32 {
  if (size > 2 && load<u8>(data) == 97) assert(load<u8>(data) != 97, "no a: größer");
  if (size > 2 && load<u8>(data) == 98) return numbers[size];
  return 0;
}

export function LLVMFuzzerTestOneInput(data: usize, size: i32): i32 {
  return parse(data, size) == 77777 ? 1 : 0;
}
