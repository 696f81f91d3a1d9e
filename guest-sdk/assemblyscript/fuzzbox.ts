// Properties for fuzzbox in AssemblyScript: the imports of `fuzzbox_v1`, and what makes them pleasant.
//
//     import * as fuzzbox from "./fuzzbox";
//
//     export function fbx_sorted(): void {
//       const n = fuzzbox.int(0, 100);
//       ...
//       if (wrong) fuzzbox.fail("not sorted");   // or any assert
//     }
//
// Compile with `--use abort=fuzzbox/abort`, if this file is fuzzbox.ts beside yours: then the message of a failed assertion becomes a
// note. What the index of a draw means is said in guest-sdk/c/fuzzbox.h and, in full, in guest-sdk/src/index.rs.

// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_int") declare function draw_int(lo: i64, hi: i64, towards: i64): i64;
// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_uint") declare function draw_uint(lo: u64, hi: u64, towards: u64): u64;
// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_bool") declare function draw_bool(p_true: u32): i32;
// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_choice") declare function draw_choice(n: u32, weights: usize): u32;
// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_f64") declare function draw_f64(lo: f64, hi: f64, flags: u32): f64;
// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_bytes") declare function draw_bytes(to: usize, min: u32, max: u32): u32;
// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_str") declare function draw_str(to: usize, room: u32, min: u32, max: u32, alphabet: usize, ranges: u32): u32;
// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_more") declare function draw_more(min: u32, max: u32, average_q8: u32): i32;
// @ts-ignore: decorator
@external("fuzzbox_v1", "draw_payload") declare function draw_payload(bits: u32): u64;
// @ts-ignore: decorator
@external("fuzzbox_v1", "span_begin") declare function span_begin(label: u32): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "span_end") declare function span_end(flags: u32): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "assume") declare function assume_(condition: i32): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "reject") declare function reject_(why: usize, len: u32): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "fail") declare function fail_(failure: usize, len: u32): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "target") declare function target_(label: usize, len: u32, score: f64): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "event") declare function event_(label: usize, len: u32, value: i64): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "keyframe") declare function keyframe_(id: u32, arg: i64): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "name") declare function name_(kind: u32, id: u32, text: usize, len: u32): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "note") declare function note_(text: usize, len: u32): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "value") declare function value_(type_id: i64, encoding: u32, bytes: usize, len: u32): void;
// @ts-ignore: decorator
@external("fuzzbox_v1", "remaining") declare function remaining_(): u32;
// @ts-ignore: decorator
@external("fuzzbox_v1", "feature") declare function feature_(name: usize, len: u32): i32;

/** An integer, both bounds included; the simplest is the one nearest to `towards`. */
export function int(lo: i64, hi: i64, towards: i64 = 0): i64 {
  return draw_int(lo, hi, towards);
}

/** An integer without sign. */
export function uint(lo: u64, hi: u64, towards: u64 = 0): u64 {
  return draw_uint(lo, hi, towards);
}

/** True with a probability in units of 2^-32; 0 and 2^32 - 1 leave no choice. False is simpler. */
export function chance(p_true: u32 = 0x80000000): bool {
  return draw_bool(p_true) != 0;
}

/** One of n, the first the simplest. */
export function choice(n: u32): u32 {
  return draw_choice(n, 0);
}

/** One of at most 4096, as likely as their weights say. */
export function weighted(weights: StaticArray<u32>): u32 {
  return draw_choice(weights.length, changetype<usize>(weights));
}

/** One of the items. */
export function pick<T>(items: T[]): T {
  return items[choice(items.length)];
}

/** What `float` may give besides finite numbers. */
export namespace Floats {
  export const NAN: u32 = 1;
  export const INFINITE: u32 = 2;
  export const NEGATIVE_ZERO: u32 = 4;
  export const SUBNORMAL: u32 = 8;
}

/** A number; integers are simpler than fractions. */
export function float(lo: f64, hi: f64, flags: u32 = Floats.SUBNORMAL): f64 {
  return draw_f64(lo, hi, flags);
}

/** Bytes as one blob. */
export function bytes(min: u32, max: u32): Uint8Array {
  const room = new Uint8Array(max);
  return room.subarray(0, draw_bytes(room.dataStart, min, max));
}

/** A string of min to max characters. The alphabet is ranges, each a first and a last character; null is all of Unicode. */
export function text(min: u32, max: u32, alphabet: StaticArray<u32> | null = null): string {
  const room = new Uint8Array(4 * max);
  const ranges = alphabet ? changetype<usize>(alphabet) : 0;
  const count = alphabet ? alphabet.length / 2 : 0;
  const len = draw_str(room.dataStart, 4 * max, min, max, ranges, count);
  return String.UTF8.decodeUnsafe(room.dataStart, len);
}

/** Whether a collection in the innermost span goes on. */
export function more(min: u32, max: u32): bool {
  const usual = Math.max(2 * <f64>min, <f64>min + 5);
  const average = Math.min(usual, (<f64>min + <f64>max) / 2);
  return draw_more(min, max, <u32>Math.min(average * 256, i32.MAX_VALUE)) != 0;
}

/** 1 to 64 bits that must not influence control flow. */
export function payload(bits: u32): u64 {
  return draw_payload(bits);
}

/** A list, each element drawn by a function. */
export function list<T>(min: u32, max: u32, element: () => T): T[] {
  const list: T[] = [];
  begin("list");
  while (more(min, max)) {
    begin("element");
    list.push(element());
    end();
  }
  end();
  return list;
}

/** The label of a name: 32-bit FNV-1a of its UTF-8. */
export function label(name: string): u32 {
  const text = String.UTF8.encode(name);
  let hash: u32 = 0x811c9dc5;
  for (let at = 0; at < text.byteLength; at++) {
    hash = (hash ^ load<u8>(changetype<usize>(text) + at)) * 0x01000193;
  }
  return hash;
}

/** Begins a group of draws that belong together. */
export function begin(kind: string): void {
  span_begin(label(kind));
}

/** Ends the innermost group. */
export function end(is_discarded: bool = false): void {
  span_end(is_discarded ? 1 : 0);
}

/** Ends the execution if the condition does not hold: it is no case of this property. */
export function assume(condition: bool): void {
  assume_(condition);
}

/** Ends the execution: it is no case of this property. */
export function reject(why: string): void {
  const text = String.UTF8.encode(why);
  reject_(changetype<usize>(text), text.byteLength);
}

/** Ends the execution as a failure. */
export function fail(failure: string): void {
  const text = String.UTF8.encode(failure);
  fail_(changetype<usize>(text), text.byteLength);
}

/** A number that the search should make large. */
export function target(label: string, score: f64): void {
  const text = String.UTF8.encode(label);
  target_(changetype<usize>(text), text.byteLength, score);
}

/** Something happened that code coverage doesn't see. */
export function event(label: string, value: i64): void {
  const text = String.UTF8.encode(label);
  event_(changetype<usize>(text), text.byteLength, value);
}

/** A predicate of a trace has become true. */
export function keyframe(id: u32, arg: i64): void {
  keyframe_(id, arg);
}

/** Names a label (kind 0) or a key frame (kind 1). */
export function name(kind: u32, id: u32, text: string): void {
  const bytes = String.UTF8.encode(text);
  name_(kind, id, changetype<usize>(bytes), bytes.byteLength);
}

/** A line for the report. */
export function note(text: string): void {
  const bytes = String.UTF8.encode(text);
  note_(changetype<usize>(bytes), bytes.byteLength);
}

/** Whether notes are read; text that is costly to make is made only then. */
export function is_reporting(): bool {
  return feature("fuzzbox:report");
}

/** Gives a value away, encoded. */
export function value(type_id: i64, encoding: u32, bytes: Uint8Array): void {
  value_(type_id, encoding, bytes.dataStart, bytes.byteLength);
}

/** How many draws are still given or random. */
export function remaining(): u32 {
  return remaining_();
}

/** Whether a feature takes part. */
export function feature(name: string): bool {
  const text = String.UTF8.encode(name);
  return feature_(changetype<usize>(text), text.byteLength) != 0;
}

/** What a failed assertion calls: its message becomes a note, then it traps. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  note((message ? message : "aborted") + ", at " + (file ? file : "?") + ":" + line.toString() + ":" + column.toString());
  unreachable();
}
