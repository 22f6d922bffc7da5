import type { Indexer } from '../../../src/simulator/indexer.ts';

/** A message of the streaming API. */
export interface Frame {
  readonly id?: string;
  readonly type?: string;
  readonly status?: string;
  readonly error?: string;
  readonly finality?: string;
  readonly trace_external_hash_norm?: string;
  readonly transactions?: readonly { account: string; finality: string }[];
  readonly actions?: readonly { accounts: readonly string[] }[];
}

const sockets: WebSocket[] = [];

/** Ends the clients of a test. */
export function closeClients(): void {
  for (const socket of sockets.splice(0)) socket.close();
}

/** A client that keeps all events. */
export async function connectTo(indexer: Indexer, query = '') {
  const socket = new WebSocket(`${indexer.streamUrl}/api/streaming/v2/ws${query}`);
  sockets.push(socket);
  const frames: Frame[] = [];
  const replies: ((reply: Frame) => void)[] = [];
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  socket.addEventListener('message', ({ data }) => {
    const frame: Frame = JSON.parse(String(data));
    if (frame.type === undefined && replies.length > 0) replies.shift()?.(frame);
    else frames.push(frame);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  const say = (message: object | string) => {
    socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    return new Promise<Frame>((resolve) => void replies.push(resolve));
  };
  const events = () => frames.map(({ type, finality }) => (finality === undefined ? type : `${type}:${finality}`));
  return { frames, closed, say, events };
}
