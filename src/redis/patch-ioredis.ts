import { createRequire } from 'node:module';
import { Cluster, type Redis } from 'ioredis';

/** Internals of an ioredis connection without public access. */
interface DataHandler {
  readonly redis: {
    readonly condition?: { readonly handshake?: boolean } | null;
    emit(name: typeof REFUSAL, refusal: Error): void;
    readonly stream: { destroy(error: Error): void };
    readonly commandQueue: { peekFront(): { readonly command: { readonly name: string } } | undefined };
  };
  dispatch(deliver: () => void): void;
  returnFatalError(error: Error): void;
  shiftCommand(reply: unknown): unknown;
}

/** The event of a client when the server refuses a command of the handshake, or is not ready. */
const REFUSAL = 'refusal';

/** Calls `onRefusal` when a server, or a node of a Cluster, refuses a command of the handshake, or is not ready. */
export function onRefusals(client: Redis | Cluster, onRefusal: (refusal: Error) => void): void {
  if (client instanceof Cluster) client.on('+node', (node: Redis) => void node.on(REFUSAL, onRefusal));
  else client.on(REFUSAL, onRefusal);
}

/** Loads ioredis' CommonJS modules, to replace their members; `import` would give a copy. */
const require = createRequire(import.meta.url);

let isPatched = false;

/**
 * Reports refusals of the handshake, and makes a reply that cannot be read end the connection: ioredis 6 throws some of
 * these errors in `process.nextTick`, which ends the process. Its warnings are not written. Patches the whole process,
 * once.
 */
export function patchIoredis(): void {
  if (isPatched) return;
  isPatched = true;
  silenceWarnings();
  const handler: DataHandler = require('ioredis/built/DataHandler.js').default.prototype;
  endConnectionAtUnreadable(handler);
  reportRefusals(handler);
}

function endConnectionAtUnreadable(handler: DataHandler): void {
  // An error caused by a reply passes through the decoder to the listener of the socket's data, which calls
  // `returnFatalError`.
  handler.dispatch = (deliver) => deliver();
  handler.returnFatalError = function (error) {
    const isRefused = error.message.startsWith(DENIED);
    this.redis.stream.destroy(isRefused ? error : new Error(`Redis broke the protocol: ${error.message}`));
  };
}

function reportRefusals(handler: DataHandler): void {
  const shiftCommand = handler.shiftCommand;
  handler.shiftCommand = function (reply) {
    const { commandQueue, condition } = this.redis;
    // Only looked at: commands that are still in the queue are rejected when the connection ends.
    const name = condition?.handshake === true ? commandQueue.peekFront()?.command.name : undefined;
    const refusal = name === undefined ? undefined : refusalIn(reply, name);
    if (refusal !== undefined) this.redis.emit(REFUSAL, refusal);
    return shiftCommand.call(this, reply);
  };
}

/** The reply of a server in protected mode, which then closes the connection. */
const DENIED = 'DENIED';

/**
 * The error in a reply to a command of the handshake, if it makes the server unusable; its message is the server's
 * text.
 */
function refusalIn(reply: unknown, command: string): Error | undefined {
  if (reply instanceof Error) {
    if (reply.message.startsWith(DENIED)) throw reply;
    return NEEDED.has(command) && !/unknown command|NOPROTO/i.test(reply.message) ? reply : undefined;
  }
  const isLoading = command === 'info' && /^loading:1\r?$/m.test(String(reply));
  return isLoading ? new Error('LOADING Redis is loading the dataset in memory') : undefined;
}

/** The commands of the handshake that must succeed. */
const NEEDED: ReadonlySet<string> = new Set(['hello', 'auth', 'select', 'info']);

/**
 * ioredis writes these warnings to the console, between the lines of the log, without an option to turn them off. It
 * continues after each of them; errors that stop it are logged as reasons. Some are untrue for a server in protected
 * mode.
 */
const WARNINGS =
  /^(\[WARN\] (Redis server|This Redis server|replyMapping)|\[ERROR\] The server returned|Skipping the ready check)/;

function silenceWarnings(): void {
  const warn = console.warn.bind(console);
  console.warn = (...words: unknown[]) => {
    if (!WARNINGS.test(String(words[0]))) warn(...words);
  };
}
