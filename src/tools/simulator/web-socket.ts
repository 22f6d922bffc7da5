import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** RFC 6455 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const OPCODES = { text: 0x1, close: 0x8 } as const;

/** The server's side of one WebSocket (RFC 6455), for clients that send no fragments and no pings, like undici's. */
export class WebSocketConnection {
  onMessage: (text: string) => void = () => {};
  /** Called once, when the connection has ended in any way. */
  onEnd: () => void = () => {};
  readonly #socket: Duplex;
  #unread: Buffer = Buffer.alloc(0);

  constructor(request: IncomingMessage, socket: Duplex) {
    this.#socket = socket;
    const accept = hash('sha1', `${request.headers['sec-websocket-key']}${GUID}`, 'base64');
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade';
    socket.write(`${upgrade}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.onEnd());
    socket.on('data', (chunk: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, chunk]);
      this.#read();
    });
  }

  send(text: string): void {
    const payload = Buffer.from(text);
    if (this.#socket.writable) this.#socket.write(Buffer.concat([headOf(payload.length), payload]));
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Takes the frames that are complete, unmasked. */
  #read(): void {
    for (let bytes = this.#unread; bytes.length >= 2; bytes = this.#unread) {
      const short = bytes.readUInt8(1) & 0x7f;
      const maskAt = short === 126 ? 4 : short === 127 ? 10 : 2;
      const start = maskAt + 4;
      if (bytes.length < start) return;
      const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
      if (bytes.length < start + size) return;
      this.#unread = bytes.subarray(start + size);
      const payload = bytes.subarray(start, start + size).map((byte, at) => byte ^ (bytes[maskAt + (at % 4)] ?? 0));
      const opcode = bytes.readUInt8(0) & 0x0f;
      if (opcode === OPCODES.text) this.onMessage(Buffer.from(payload).toString());
      // Without its own close frame, so the client sees 1006. Earlier data arrives.
      if (opcode === OPCODES.close) this.#socket.end();
    }
  }
}

/** The head of an unmasked text frame. */
function headOf(length: number): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head.writeUInt8(0x80 | OPCODES.text, 0);
  head.writeUInt8(length < 126 ? length : length < 65_536 ? 126 : 127, 1);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
