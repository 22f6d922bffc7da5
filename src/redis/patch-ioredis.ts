import { createRequire } from 'node:module';
import { Cluster, type Redis } from 'ioredis';

/** Internals of an ioredis connection without public access. */
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
 * Makes replies that break the Redis protocol end the connection. Without the patch, ioredis 6 throws errors caused by
 * a reply in `process.nextTick`, which ends the process, and takes an overdue reply for the reply to the next command.
 * Its warnings are not written. Patches the whole process, once.
 */
export function patchIoredis(): void {
  if (isPatched) return;
  isPatched = true;
  silenceWarnings();
  endConnectionAtGarbage(require('ioredis/built/DataHandler.js').default.prototype);
}

function endConnectionAtGarbage(handler: DataHandler): void {
  // An error caused by a reply passes through the decoder to the caller that gave it the bytes, which calls
  // `returnFatalError`.
  handler.dispatch = (deliver) => deliver();
  handler.returnFatalError = function (error) {
    const isRefused = error.message.startsWith(DENIED);
    this.redis.stream.destroy(isRefused ? error : new Error(`Redis broke the protocol: ${error.message}`));
  };
  handler.shiftCommand = function (reply) {
    const { commandQueue } = this.redis;
    // Only looked at: commands that are still in the queue are rejected when the connection ends.
    const item = commandQueue.peekFront();
    if (item === undefined) throw new Error('a reply without a command');
    // The reply is overdue, or belongs to the next command; every following command would then get a wrong reply.
    if (item.command.isSettled) throw new Error('a reply to a command that has timed out');
    if (!canAnswer(reply, item.command.name)) throw new Error('a reply to another command');
    const refusal = this.redis.condition?.handshake === true ? refusalIn(reply, item.command.name) : undefined;
    if (refusal !== undefined) this.redis.emit(REFUSAL, refusal);
    commandQueue.shift();
    return item;
  };
  // There are no subscriptions. A confirmation of a subscription would make ioredis refuse all other commands.
  handler.returnPush = () => {
    throw new Error('an unexpected push message');
  };
}

/**
 * True if a reply has a type that a read can get; other commands, which are scripts, can get any type. ioredis takes a
 * length that is not a number for a large one, and then takes the following replies for part of this one: every later
 * command gets the reply to another command, and with steady traffic none of them times out.
 */
function canAnswer(reply: unknown, command: string): boolean {
  return command !== 'get' || Buffer.isBuffer(reply) || reply instanceof Error || reply === null;
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
