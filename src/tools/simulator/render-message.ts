import { digest } from './seeded-random.ts';
import type { Message } from './trace.ts';

/** Cells of a body that give the message the size of a real one: transfers of jettons and NFTs are most of them. */
const EXTERNAL_CELLS = 9;
const INTERNAL_CELLS = 14;

// A number that looks random and is the same at every rendering.
function numberOf(hash: string, salt: string, below: number): number {
  return Buffer.from(digest(hash, salt), 'base64').readUInt32LE(0) % below;
}

function content(hash: string, cells: number, decoded: object): object {
  const body = Array.from({ length: cells }, (_, n) => digest(hash, 'body', n).slice(0, 43)).join('');
  return { hash: digest(hash, 'content'), body: `te6cckEBAgEA${body}`, decoded };
}

function renderExternal(message: Message): object {
  const type = 'wallet_signed_external_v5_r1';
  return {
    hash: message.hash,
    source: null,
    destination: message.destination.address,
    value: null,
    value_extra_currencies: null,
    fwd_fee: null,
    ihr_fee: null,
    extra_flags: null,
    created_lt: null,
    created_at: null,
    opcode: '0x7369676e',
    decoded_opcode: type,
    ihr_disabled: null,
    bounce: null,
    bounced: null,
    import_fee: '0',
    message_content: content(message.hash, EXTERNAL_CELLS, {
      '@type': type,
      valid_until: String(message.createdAt + 300),
    }),
    init_state: null,
    hash_norm: message.hash,
  };
}

/** A message as the indexer's JSON has it: about 1.2 KB, the same at every rendering. */
export function renderMessage(message: Message): object {
  if (message.source === undefined) return renderExternal(message);
  return {
    hash: message.hash,
    source: message.source.address,
    destination: message.destination.address,
    value: String(1e7 + numberOf(message.hash, 'value', 1e9)),
    value_extra_currencies: {},
    fwd_fee: String(266_669 + numberOf(message.hash, 'fee', 400_000)),
    ihr_fee: '0',
    extra_flags: '0',
    created_lt: String(message.createdLt),
    created_at: String(message.createdAt),
    opcode: '0x00000000',
    decoded_opcode: 'text_comment',
    ihr_disabled: true,
    bounce: true,
    bounced: false,
    import_fee: null,
    message_content: content(message.hash, INTERNAL_CELLS, {
      '@type': 'text_comment',
      comment: `order ${numberOf(message.hash, 'order', 1e6)}`,
    }),
    init_state: null,
  };
}
