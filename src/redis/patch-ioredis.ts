import { createRequire } from 'node:module';
import { Cluster, type Redis } from 'ioredis';

/** Internals of an ioredis connection that have no public access. */
interface DataHandler {
  readonly redis: {
    readonly condition?: { readonly handshake?: boolean } | null;
    emit(name: typeof REFUSAL, refusal: Error): void;
    readonly stream: { destroy(error: Error): void };
    readonly commandQueue: { peekFront(): QueuedCommand | undefined; shift(): QueuedCommand | undefined };
  };
  dispatch(deliver: () => void): void;
  returnFatalError(error: Error): void;
  shiftCommand(reply: unknown): QueuedCommand;
  returnPush(reply: unknown): void;
}

interface QueuedCommand {
  readonly command: { readonly name: string; readonly isSettled: boolean };
}

/** What a client emits when the server refuses a command of the handshake, or is not ready. */
const REFUSAL = 'refusal';

/** Calls `onRefusal` when a server, or a node of a Cluster, refuses a command of the handshake, or is not ready. */
export function onRefusals(client: Redis | Cluster, onRefusal: (refusal: Error) => void): void {
  if (client instanceof Cluster) client.on('+node', (node: Redis) => void node.on(REFUSAL, onRefusal));
  else client.on(REFUSAL, onRefusal);
}

/** Loads ioredis' CommonJS modules, to replace members of them; `import` would give a copy. */
const require = createRequire(import.meta.url);

let isPatched = false;

/**
 * Makes replies that break the Redis protocol end the connection. Unpatched, ioredis 6 throws what a reply causes in
 * `process.nextTick`, which ends the process; and takes an overdue reply for the reply to the next command. Its warnings are
 * not written. Patches the whole process, once.
 */
export function patchIoredis(): void {
  if (isPatched) return;
  isPatched = true;
  silenceWarnings();
  endConnectionAtGarbage(require('ioredis/built/DataHandler.js').default.prototype);
}

function endConnectionAtGarbage(handler: DataHandler): void {
  // An error that a reply causes passes through the decoder to the caller that gave it the bytes, which calls
  // `returnFatalError`.
  handler.dispatch = (deliver) => deliver();
  handler.returnFatalError = function (error) {
    const isRefused = error.message.startsWith(DENIED);
    this.redis.stream.destroy(isRefused ? error : new Error(`Redis broke the protocol: ${error.message}`));
  };
  handler.shiftCommand = function (reply) {
    const { commandQueue } = this.redis;
    // Only looked at: what is still in the queue is rejected when the connection ends.
    const item = commandQueue.peekFront();
    if (item === undefined) throw new Error('a reply without a command');
    // The reply is overdue, or belongs to the next command; then every following command would get a wrong reply.
    if (item.command.isSettled) throw new Error('a reply to a command that has timed out');
    if (!canAnswer(reply, item.command.name)) throw new Error('a reply to another command');
    const refusal = this.redis.condition?.handshake === true ? refusalIn(reply, item.command.name) : undefined;
    if (refusal !== undefined) this.redis.emit(REFUSAL, refusal);
    commandQueue.shift();
    return item;
  };
  // Nothing is subscribed to. A confirmation of a subscription would let ioredis refuse all other commands.
  handler.returnPush = () => {
    throw new Error('an unexpected push message');
  };
}

/**
 * Whether a reply is of a type that a read can be answered with; of other commands, which are scripts, it can be any.
 * ioredis takes a length that is no number for a large one, and the replies that follow for what is so long: then every
 * later command gets the reply to another one, and with steady traffic none of them times out.
 */
function canAnswer(reply: unknown, command: string): boolean {
  return command !== 'get' || Buffer.isBuffer(reply) || reply instanceof Error || reply === null;
}

/** What a server says of a connection that it closes at once, because it is in protected mode: in place of a reply. */
const DENIED = 'DENIED';

/** What a reply to a command of the handshake says of a server that cannot be used; its words are the error's. */
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
 * ioredis writes these to the console, between the lines of the log, and has no option against it. It goes on after each of
 * them; what keeps it from going on is a reason that is logged. Some are untrue of a server in protected mode.
 */
const WARNINGS =
  /^(\[WARN\] (Redis server|This Redis server|replyMapping)|\[ERROR\] The server returned|Skipping the ready check)/;

function silenceWarnings(): void {
  const warn = console.warn.bind(console);
  console.warn = (...words: unknown[]) => {
    if (!WARNINGS.test(String(words[0]))) warn(...words);
  };
}
