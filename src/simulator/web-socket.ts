import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** RFC 6455 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const OPCODES = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

interface ClientFrame {
  readonly isLast: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
  readonly length: number;
}

/** The server's side of one WebSocket (RFC 6455), without subprotocols, extensions and a bound on sizes, like the real one. */
export class WebSocketConnection {
  /** Called with each message, text or binary. */
  onMessage: (text: string) => void = () => {};
  /** Called once, when the connection has ended in any way. */
  onEnd: () => void = () => {};
  readonly #socket: Duplex;
  #unread: Buffer;
  #fragments: Buffer[] = [];

  /** Answers the handshake; any other request gets 426. */
  constructor(request: IncomingMessage, socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#unread = head;
    socket.on('error', () => {});
    const key = request.headers['sec-websocket-key'];
    if (key === undefined) {
      socket.end('HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const accept = hash('sha1', key + GUID, 'base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on('close', () => this.onEnd());
    socket.on('data', (chunk: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, chunk]);
      this.#read();
    });
    // Read what has come already only after the caller has set its callbacks.
    if (head.length > 0) queueMicrotask(() => this.#read());
  }

  /** Sends one text message. */
  send(text: string): void {
    this.#write(OPCODES.text, Buffer.from(text));
  }

  /** Ends the connection without a close frame: the client sees 1006. What was sent before arrives. */
  end(): void {
    this.#socket.end();
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #read(): void {
    for (;;) {
      const frame = readFrame(this.#unread);
      if (frame === undefined) return;
      this.#unread = this.#unread.subarray(frame.length);
      this.#take(frame);
    }
  }

  #take({ opcode, payload, isLast }: ClientFrame): void {
    switch (opcode) {
      case OPCODES.ping:
        this.#write(OPCODES.pong, payload);
        break;
      case OPCODES.close:
        this.#write(OPCODES.close, payload);
        this.#socket.end();
        break;
      case OPCODES.text:
      case OPCODES.binary:
      case OPCODES.continuation: {
        this.#fragments.push(payload);
        if (!isLast) break;
        const message = Buffer.concat(this.#fragments).toString();
        this.#fragments = [];
        this.onMessage(message);
        break;
      }
      default:
        break;
    }
  }

  #write(opcode: number, payload: Buffer): void {
    if (!this.#socket.writable) return;
    this.#socket.write(Buffer.concat([headOf(opcode, payload.length), payload]));
  }
}

/** The first frame of a client, unmasked; `undefined` while it is not complete. */
function readFrame(bytes: Buffer): ClientFrame | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1) & 0x7f;
  const maskAt = short === 126 ? 4 : short === 127 ? 10 : 2;
  const payloadAt = maskAt + 4;
  if (bytes.length < payloadAt) return undefined;
  const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  const length = payloadAt + size;
  if (bytes.length < length) return undefined;
  const payload = Buffer.from(bytes.subarray(payloadAt, length));
  for (let at = 0; at < size; at++) payload[at] = (payload[at] ?? 0) ^ (bytes[maskAt + (at % 4)] ?? 0);
  return { isLast: bytes.readUInt8(0) >= 0x80, opcode: bytes.readUInt8(0) & 0x0f, payload, length };
}

function headOf(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head.writeUInt8(0x80 | opcode, 0);
  if (length < 126) head.writeUInt8(length, 1);
  else if (length < 65_536) {
    head.writeUInt8(126, 1);
    head.writeUInt16BE(length, 2);
  } else {
    head.writeUInt8(127, 1);
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return head;
}
