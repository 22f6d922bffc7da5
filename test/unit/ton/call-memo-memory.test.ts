import { expect, test } from 'vitest';
import { parseTarget } from '../../../src/http/parse-request.ts';
import { CallMemo } from '../../../src/ton/call-memo.ts';
import { usedHeapBytes } from '../../support/collect-garbage.ts';
import { HASH_HEX, operationNamed } from './requests.ts';

const MIB = 1024 ** 2;

// A part of a string keeps the whole of it alive in V8: here that would be 150 MiB of request targets.
test.each(['', '&supported_action_types=jetton_transfer'])(
  'remembered spellings keep a few megabytes, not the request targets that they were part of: %j',
  (more) => {
    const memo = new CallMemo('mainnet');
    const operation = operationNamed('pendingTraces');
    const before = usedHeapBytes();
    for (let index = 0; index < 10_000; index++) {
      const target = `http://${'a'.repeat(15_500)}/api/v3/pendingTraces?ext_msg_hash=${HASH_HEX}&_=${index}${more}`;
      // As node:http gives it: one flat string of its own.
      const { rawQuery } = parseTarget(Buffer.from(target).toString('latin1'));
      memo.remember(memo.read(operation, rawQuery, {}));
    }
    expect(usedHeapBytes() - before).toBeLessThan(40 * MIB);
    expect(memo.read(operation, `ext_msg_hash=${HASH_HEX}`, {}).call.operation).toBe(operation);
  },
);
