// A harness with a bug two calls deep: an index into an array comes from the input.

// @ts-ignore: decorator
@inline
function digit(byte: u8): i32 {
  return byte < 48 || byte > 57 ? -1 : i32(byte) - 48;
}

class Table {
  cells: StaticArray<i32> = new StaticArray<i32>(8);

  bump(at: i32): i32 {
    return (this.cells[at] += 1);
  }
}

export function malloc(size: usize): usize {
  return heap.alloc(size);
}

function fail(message: usize, file: usize, line: u32, column: u32): void {
  unreachable();
}

export function LLVMFuzzerTestOneInput(data: usize, size: i32): i32 {
  const table = new Table();
  let sum = 0;
  for (let i = 0; i < size; i++) {
    const value = digit(load<u8>(data + i));
    if (value < 0) return -1;
    sum += table.bump(value);
  }
  return sum > 100 ? 1 : 0;
}
