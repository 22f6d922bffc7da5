import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

// A process: a server that has one answer for everything and costs nearly nothing, to see what the generator can do.

const body = JSON.stringify({ blocks: [], padding: 'x'.repeat(900) });
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);

// The generator has one request on a connection at a time, and sends it in one piece.
const server = createServer((socket) => {
  socket.on('data', () => socket.write(answer));
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
