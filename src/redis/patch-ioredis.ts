import { createRequire } from 'node:module';

/** Internals of an ioredis connection that have no public access. */
interface DataHandler {
  readonly redis: {
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

/** Loads ioredis' CommonJS modules, to replace members of them; `import` would give a copy. */
const require = createRequire(import.meta.url);

let isPatched = false;

/**
 * Makes replies that break the Redis protocol end the connection. Unpatched, ioredis 6 throws what a reply causes in
 * `process.nextTick`, which ends the process; and takes an overdue reply for the reply to the next command. Patches the whole
 * process, once.
 */
export function patchIoredis(): void {
  if (isPatched) return;
  isPatched = true;
  endConnectionAtGarbage(require('ioredis/built/DataHandler.js').default.prototype);
}

function endConnectionAtGarbage(handler: DataHandler): void {
  // An error that a reply causes passes through the decoder to the caller that gave it the bytes, which calls
  // `returnFatalError`.
  handler.dispatch = (deliver) => deliver();
  handler.returnFatalError = function (error) {
    this.redis.stream.destroy(new Error(`Redis broke the protocol: ${error.message}`));
  };
  handler.shiftCommand = function (reply) {
    const { commandQueue } = this.redis;
    // Only looked at: what is still in the queue is rejected when the connection ends.
    const item = commandQueue.peekFront();
    if (item === undefined) throw new Error('a reply without a command');
    // The reply is overdue, or belongs to the next command; then every following command would get a wrong reply.
    if (item.command.isSettled) throw new Error('a reply to a command that has timed out');
    if (!canAnswer(reply, item.command.name)) throw new Error('a reply to another command');
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
