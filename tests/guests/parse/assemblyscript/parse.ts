export function parse(text: Uint8Array): void {
  const levels: Uint8Array[] = [];
  for (let at = 0; at < text.length && text[at] == 0x5b; at++) {
    levels.push(text.slice(at));
    assert(levels.length < 3, "too deep");
  }
}
