import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';

/** Mostly characters that separate parts of a request. */
const BYTES = [
  ...['\r', '\n', '\r\n', '\r\n\r\n', '\0', ' ', '\t', ':', ',', ';', '0', '/', '?'],
  ...['\x0b', '\x7f', '\x85', '\xa0', '\xff'],
];

/** The text (latin1) with a few bytes inserted, removed or replaced among the first `within`. */
export function changedBytes(text: string, random: SeededRandom, within = text.length): string {
  let bytes = text;
  for (let times = random.int(1, 3); times > 0; times--) {
    const at = random.int(0, Math.min(bytes.length, within));
    const byte = random.chance(0.7) ? random.pick(BYTES) : String.fromCharCode(random.int(0, 255));
    bytes = bytes.slice(0, at) + random.pick([byte, byte, '']) + bytes.slice(at + random.int(0, 2));
  }
  return bytes;
}
