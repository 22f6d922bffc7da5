import { expect } from 'vitest';

// `toEqual` compares the properties of an ArrayBuffer, which has none: any two would be equal.
expect.addEqualityTesters([
  (one, other) =>
    one instanceof ArrayBuffer && other instanceof ArrayBuffer
      ? Buffer.from(one).equals(Buffer.from(other))
      : undefined,
]);
