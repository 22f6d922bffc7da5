import { digest } from './seeded-random.ts';
import type { Message } from './trace.ts';

/** Cells of a body, with zeros between them, that give it the size of a real one, with gzip and without. */
const CELLS = 17;
const ZEROS = 'A'.repeat(20);

/** A message as the indexer's JSON has it, as far as anybody reads it: about 1.2 KB, the same at every rendering. */
export function renderMessage({ hash, source, destination, createdLt, createdAt }: Message): object {
  const cells = Array.from({ length: CELLS }, (_, n) => digest(hash, 'body', n).slice(0, 43));
  const isExternal = source === undefined;
  return {
    hash,
    source: source?.address ?? null,
    destination: destination.address,
    value: isExternal ? null : '250000000',
    fwd_fee: isExternal ? null : '266669',
    created_lt: isExternal ? null : String(createdLt),
    created_at: isExternal ? null : String(createdAt),
    opcode: isExternal ? '0x7369676e' : '0x00000000',
    bounce: isExternal ? null : true,
    message_content: { hash: digest(hash, 'content'), body: `te6cckEBAgEA${cells.join(ZEROS)}`, decoded: null },
    ...(isExternal ? { hash_norm: hash } : {}),
  };
}
