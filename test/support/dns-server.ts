import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** The IPv4 addresses of names; `silent`: no answer. All other names do not exist. */
export type Zone = Map<string, readonly string[] | 'silent'>;

/** Of RFC 1035, section 4.1.1: an answer, recursion desired and available. */
const ANSWER = 0x8180;
const NO_SUCH_NAME = 3;
const A = 1;

/** A DNS server at port 53 of 127.0.0.1, which answers from the present zone. */
export async function startDnsServer(zone: Zone): Promise<Disposable> {
  const socket = createSocket('udp4');
  socket.on('message', (question, peer) => {
    const { name, type, end } = readQuestion(question);
    const addresses = zone.get(name);
    if (addresses === 'silent') return;
    const found = type === A ? (addresses ?? []) : [];
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
    head.writeUInt16BE(ANSWER | (addresses === undefined ? NO_SUCH_NAME : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found.length, 6);
    socket.send(Buffer.concat([head, question.subarray(12, end), ...found.map(record)]), peer.port, peer.address);
  });
  socket.bind(53, '127.0.0.1');
  await once(socket, 'listening');
  return { [Symbol.dispose]: () => void socket.close() };
}

function readQuestion(message: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** The address of the name in the question, for a time to live of 1 s. */
function record(address: string): Buffer {
  return Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]);
}
