import { expect, test } from 'vitest';
import { makeAccount } from '../../../../src/tools/simulator/accounts.ts';
import { writeTransfer } from '../../../../src/tools/simulator/transfer-body.ts';

const account = (hash: string) => makeAccount('wallet', Buffer.from(hash, 'hex'));
const PARTIES = {
  queryId: 2929751232266331893n,
  amount: 3_000_000,
  destination: account('9da971af38d2f03abdf308d5f91636a97e5a2b07a66c39d71d7cbae3b032eddc'),
  responseDestination: account('4e3664faee814fbdb6c1cb36d72bac52d15e186c11ecd664fe1b3f1a7cfd801d'),
};

test('a transfer is written as a recorded one', () => {
  // In mainnet's transaction with lt 60054965000003.
  const recorded =
    'te6cckEBAQEAVgAAqA+KfqUoqJE5J39m9TLcbAgBO1LjXnGl4HV75hGr8ixtUvy0Vg9M2HOuOvl1x2Bl27kAE42ZPrugU+9tsHLNtcrrFLRXhhsEezWZP4bPxp8/YAdCAoBiKn8=';
  expect(writeTransfer(PARTIES)).toBe(recorded);
});

test('a transfer with a payload has a second cell, and one without a recipient two bits in its place', () => {
  const bytesOf = (more: Partial<Parameters<typeof writeTransfer>[0]>) =>
    Buffer.from(writeTransfer({ ...PARTIES, ...more }), 'base64');
  const [plain, withPayload, withoutRecipient] = [{}, { hasPayload: true }, { destination: undefined }].map(bytesOf);
  expect([plain?.[6], withPayload?.[6]]).toEqual([1, 2]);
  expect(withPayload?.[11]).toBe(1);
  expect(plain?.subarray(11).length).toBe((withoutRecipient?.subarray(11).length ?? 0) + 33);
});
