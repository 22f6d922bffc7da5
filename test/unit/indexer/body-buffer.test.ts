import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyBuffer } from '../../../src/indexer/read-answer.ts';

test('a body is what came, whatever length was announced', () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)));
  const announced = fc.oneof(
    fc.constantFrom(undefined, '', 'x', '-1', '0x10', '1e9', '0.5', '99999999999999999999'),
    fc.nat({ max: 60 }).map(String),
  );
  fc.assert(
    fc.property(chunks, announced, (came, length) => {
      const body = new BodyBuffer(length);
      for (const chunk of came) body.add(chunk);
      expect(body.take()).toEqual(Buffer.concat(came));
    }),
  );
});

test('a body of the length that was announced has memory of its own, and is no part of what it came in', () => {
  const chunk = Buffer.from('a body and more');
  const body = new BodyBuffer('6');
  body.add(chunk.subarray(0, 2));
  body.add(chunk.subarray(2, 6));
  const taken = body.take();
  chunk.fill(0);
  expect([String(taken), taken.buffer.byteLength]).toEqual(['a body', 6]);
});
