import { Agent, type buildConnector, WebSocket } from 'undici';
import { reasonOf } from '../reason-of.ts';
import { USER_AGENT } from '../version.ts';

/** One WebSocket, from its opening to its end. */
export interface Socket {
  /** Call once it is open. */
  send(text: string): void;
  /** Ends it immediately, without waiting for the server. */
  close(): void;
}

/** The callbacks of a socket. None is called after `onClose`. */
export interface SocketHandlers {
  readonly onOpen: () => void;
  readonly onMessage: (data: unknown) => void;
  /** It could not be opened, or it ended. */
  readonly onClose: (reason: string) => void;
}

/** Opens a socket. Never throws. */
export type OpenSocket = (handlers: SocketHandlers) => Socket;

/** The address and options of the connection. */
export interface SocketOpenerOptions {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly connect: buildConnector.connector;
}

/** A larger message ends the connection. */
const LARGEST_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * Opens WebSockets of a server (`ws:` or `wss:`). The key goes into `X-API-Key`. No subprotocol is offered: the server
 * knows none, and a client that offers one fails.
 */
export function socketOpener({ url, apiKey, connect }: SocketOpenerOptions): OpenSocket {
  return ({ onOpen, onMessage, onClose }) => {
    const dispatcher = new Agent({
      connect,
      allowH2: false,
      webSocket: { maxPayloadSize: LARGEST_MESSAGE_BYTES },
    });
    const headers: Record<string, string> = { 'User-Agent': USER_AGENT };
    if (apiKey !== undefined) headers['X-API-Key'] = apiKey;
    const socket = new WebSocket(url, { dispatcher, headers });
    let reason = '';
    let isOver = false;
    const close = () => {
      isOver = true;
      socket.close();
      dispatcher.destroy().catch(() => {});
    };
    socket.addEventListener('open', () => isOver || onOpen());
    socket.addEventListener('message', ({ data }) => isOver || onMessage(data));
    socket.addEventListener('error', ({ message, error }) => {
      // For a refused connection undici gives no reason.
      reason = reasonOf(error) ?? (message || 'it could not be opened');
    });
    socket.addEventListener('close', ({ code, reason: said }) => {
      if (isOver) return;
      close();
      onClose(reason || said || `closed with code ${code}`);
    });
    return { send: (text) => socket.send(text), close };
  };
}
