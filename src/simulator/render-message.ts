import { digest } from './seeded-random.ts';
import type { Message } from './trace.ts';

const OPCODES = [
  { opcode: '0x00000000', name: 'text_comment' },
  { opcode: '0x0f8a7ea5', name: 'jetton_transfer' },
  { opcode: '0x178d4519', name: 'jetton_internal_transfer' },
  { opcode: '0x7362d09c', name: 'jetton_notify' },
  { opcode: '0xd53276db', name: 'excess' },
];

// A number that looks random and is the same at every rendering.
function numberOf(hash: string, salt: string, below: number): number {
  return Buffer.from(digest(hash, salt), 'base64').readUInt32LE(0) % below;
}

function cells(hash: string, count: number): string {
  const parts = Array.from({ length: count }, (_, n) => digest(hash, 'body', n).slice(0, 43));
  return `te6cckEBAgEA${parts.join('')}`;
}

function coins(amount: number): object {
  return { '@type': 'var_uint', len: '4', value: String(amount) };
}

function standardAddress(address: string): object {
  const [workchain = '0', hex = ''] = address.split(':');
  return { '@type': 'addr_std', anycast: { '@type': 'nothing_from_maybe' }, workchain_id: workchain, address: hex };
}

function decodedBody(message: Message, name: string): object {
  if (name === 'text_comment') {
    return { '@type': name, comment: `order ${numberOf(message.hash, 'order', 1e6)}`, type: name };
  }
  return {
    '@type': name,
    query_id: String(numberOf(message.hash, 'query', 2 ** 31)),
    amount: coins(numberOf(message.hash, 'amount', 1e9)),
    destination: standardAddress(message.destination.address),
    response_destination: standardAddress((message.source ?? message.destination).address),
    custom_payload: { '@type': 'nothing_from_maybe' },
    forward_ton_amount: coins(1),
    forward_payload: { '@type': 'first_from_either', value: { '@type': 'text_comment', text: 'thank you' } },
  };
}

function renderExternal(message: Message): object {
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
    decoded_opcode: 'wallet_signed_external_v5_r1',
    ihr_disabled: null,
    bounce: null,
    bounced: null,
    import_fee: '0',
    message_content: {
      hash: digest(message.hash, 'content'),
      body: cells(message.hash, 9),
      decoded: {
        '@type': 'wallet_signed_external_v5_r1',
        wallet_id: '2147483409',
        valid_until: String(message.createdAt + 300),
        msg_seqno: String(numberOf(message.hash, 'seqno', 5000)),
        signature: Buffer.from(digest(message.hash, 'signature'), 'base64').toString('hex').toUpperCase().repeat(2),
      },
    },
    init_state: null,
    hash_norm: message.hash,
  };
}

/** A message as the indexer's JSON has it: about 0.5 to 1.2 KB, the same at every rendering. */
export function renderMessage(message: Message): object {
  if (message.source === undefined) return renderExternal(message);
  const operation = OPCODES[numberOf(message.hash, 'operation', OPCODES.length)] ?? {
    opcode: '0x00000000',
    name: 'text_comment',
  };
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
    opcode: operation.opcode,
    decoded_opcode: operation.name,
    ihr_disabled: true,
    bounce: operation.name !== 'excess',
    bounced: false,
    import_fee: null,
    message_content: {
      hash: digest(message.hash, 'content'),
      body: cells(message.hash, 3),
      decoded: decodedBody(message, operation.name),
    },
    init_state: null,
  };
}
