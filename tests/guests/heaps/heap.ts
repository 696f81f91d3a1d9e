// Notes what the input holds, takes memory and fills it, and looks at the input again.
function check(data: usize, size: i32): void {
  const noted = new Uint8Array(size);
  for (let i = 0; i < size; i++) noted[i] = load<u8>(data + i);
  const bytes = size > 0 ? (<i32>load<u8>(data)) << 14 : 100;
  const blocks: Uint8Array[] = [];
  for (let i = 0; i < 3; i++) {
    const block = new Uint8Array(bytes);
    block.fill(0xee);
    blocks.push(block);
  }
  for (let i = 0; i < size; i++) {
    if (noted[i] != load<u8>(data + i)) unreachable();
  }
  if (blocks.length != 3) unreachable();
}

export function parse(data: usize, size: i32): void {
  check(data, size);
}

let behind: u8 = 0;

export function planted(data: usize, size: i32): void {
  check(data, size);
  if (size > 1 && load<u8>(data + 1) == 0x78) behind = load<u8>(data + size);
}
