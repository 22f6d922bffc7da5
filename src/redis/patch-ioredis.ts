import { createRequire } from 'node:module';
import { Command, Redis } from 'ioredis';
import type { Decoder } from 'ioredis/built/resp/decoder.js';
import { ReplySyntax } from './reply-syntax.ts';

/** The only version that this patch was written for. Before changing it, check the internals of the new version. */
const PATCHED_VERSION = '6.0.0';

/** Internals of an ioredis connection that have no public access. */
interface DataHandler {
  readonly redis: {
    readonly stream: { destroy(error: Error): void };
    readonly commandQueue: { shift(): QueuedCommand | undefined; peekFront(): QueuedCommand | undefined };
    readonly condition: { readonly subscriber: unknown };
  };
  dispatch(deliver: () => void): void;
  returnFatalError(error: Error): void;
  shiftCommand(reply: unknown): QueuedCommand;
  returnPush(reply: unknown): void;
}

interface QueuedCommand {
  readonly command: { readonly name: string; readonly args: readonly unknown[]; readonly isSettled: boolean };
}

interface SentinelConnector {
  resolve(sentinel: unknown): Promise<{ readonly host: unknown; readonly port: unknown } | null>;
}

interface WaitingClient {
  readonly status: string;
  manuallyClosing: boolean;
  disconnect(reconnect?: boolean): void;
  setStatus(status: string): void;
  flushQueue(error: Error): void;
}

interface Connector {
  connect(...args: unknown[]): Promise<NodeJS.EventEmitter>;
}

/** Loads ioredis' CommonJS modules, to replace members of them; `import` would give a copy. */
const require = createRequire(import.meta.url);

let isPatched = false;

/**
 * Makes a violation of the Redis protocol end the connection. Unpatched, ioredis 6.0.0 accepts nearly everything as a
 * reply and throws the consequences in `process.nextTick`, which ends the process: for a SUBSCRIBE answered `:1`, a
 * push that begins with a null, a null without a command. A second error of its socket ends the process too. Patches
 * the whole process, once; throws if another version is installed.
 */
export function patchIoredis(): void {
  if (isPatched) return;
  const { version } = require('ioredis/package.json');
  if (version !== PATCHED_VERSION) {
    throw new Error(`ioredis ${version} is installed, and only ${PATCHED_VERSION} can be patched`);
  }
  isPatched = true;
  endConnectionAtGarbage(require('ioredis/built/DataHandler.js').default.prototype);
  checkBytesFirst(require('ioredis/built/resp/decoder.js'));
  for (const name of ['StandaloneConnector', 'SentinelConnector']) {
    surviveLateErrors(require(`ioredis/built/connectors/${name}`).default.prototype);
  }
  checkPrimary(require('ioredis/built/connectors/SentinelConnector').default.prototype);
  // The cast: the members that are replaced are private in the types of ioredis.
  endWhileWaiting(Redis.prototype as unknown as WaitingClient);
  checkReplies();
}

function endConnectionAtGarbage(handler: DataHandler): void {
  // An error that a reply causes passes through the decoder to the caller that gave it the bytes, which calls
  // `returnFatalError`.
  handler.dispatch = (deliver) => deliver();
  handler.returnFatalError = function (error) {
    this.redis.stream.destroy(new Error(`Redis broke the protocol: ${error.message}`));
  };
  handler.shiftCommand = function () {
    const item = this.redis.commandQueue.shift();
    if (item === undefined) throw new Error('a reply without a command');
    // The reply is late, or belongs to the next command; then every following command would get a wrong reply.
    if (item.command.isSettled) throw new Error('a reply to a command that has timed out');
    return item;
  };
  const { returnPush } = handler;
  handler.returnPush = function (reply) {
    mustBeExpected(this, reply);
    returnPush.call(this, reply);
  };
}

/** Accepts only pushes that were asked for: messages of a subscriber and replies to SUBSCRIBE. */
function mustBeExpected({ redis }: DataHandler, reply: unknown): void {
  const [kind, ...rest] = Array.isArray(reply)
    ? reply.map((part) => (Buffer.isBuffer(part) ? String(part) : part))
    : [];
  const [channel, last] = rest;
  const isMessage = kind === 'message' && redis.condition.subscriber && typeof last === 'string';
  const asked = redis.commandQueue.peekFront()?.command;
  const isAnswer = kind === 'subscribe' && asked?.name === kind && asked?.args.includes(channel) && last > 0;
  if (rest.length !== 2 || typeof channel !== 'string' || !(isMessage || isAnswer))
    throw new Error('an unexpected push message');
}

function checkBytesFirst(decoders: { Decoder: typeof Decoder }): void {
  decoders.Decoder = class extends decoders.Decoder {
    readonly #syntax = new ReplySyntax();

    override write(chunk: Buffer): void {
      this.#syntax.check(chunk);
      super.write(chunk);
    }
  };
}

/**
 * ioredis listens only to the first error of a socket. A TLS socket that refused a certificate may get the server's
 * alert as a second one.
 */
function surviveLateErrors(connector: Connector): void {
  const { connect } = connector;
  connector.connect = async function (...args) {
    const stream = await connect.apply(this, args);
    return stream.on('error', () => {});
  };
}

/**
 * Checks the primary's address that a sentinel names. ioredis connects to it unchecked, and its client ends for good if
 * the address is invalid.
 */
function checkPrimary(connector: SentinelConnector): void {
  const { resolve } = connector;
  connector.resolve = async function (sentinel) {
    const primary = await resolve.call(this, sentinel);
    if (primary === null || isAddress([primary.host, primary.port])) return primary;
    throw new Error('Redis gave no answer to SENTINEL');
  };
}

/**
 * Ends a client that is told to disconnect while it waits for its next attempt. Unpatched it never ends, since it has
 * no socket that could close. A Cluster whose ready check failed would wait for ever for the end of such nodes before
 * it reconnects.
 */
function endWhileWaiting(client: WaitingClient): void {
  const { disconnect } = client;
  client.disconnect = function (reconnect = false) {
    disconnect.call(this, reconnect);
    if (reconnect || this.status !== 'reconnecting') return;
    this.manuallyClosing = false;
    this.setStatus('end');
    this.flushQueue(new Error('Connection is closed.'));
  };
}

/**
 * Checks the replies that ioredis itself reads, in callbacks whose errors would end the process. A wrong reply becomes
 * an error of its command.
 */
function checkReplies(): void {
  const must = (command: string, isRight: (reply: unknown) => boolean) =>
    Command.setReplyTransformer(command, (reply: unknown) => {
      if (isRight(reply)) return reply;
      throw new Error(`Redis gave no answer to ${command.toUpperCase()}`);
    });
  must('hello', Array.isArray);
  must('info', (reply) => typeof reply === 'string');
  must('cluster', (reply) => typeof reply === 'string' || (Array.isArray(reply) && reply.every(isSlotRange)));
}

/** `CLUSTER SLOTS`: from, to, then the nodes. */
function isSlotRange(range: unknown): boolean {
  if (!Array.isArray(range)) return false;
  const [from, to, ...nodes] = range;
  const areSlots = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && to < 16_384;
  return areSlots && nodes.every((node) => Array.isArray(node) && (node[0] === null || isAddress(node)));
}

function isAddress([host, port]: readonly unknown[]): boolean {
  return typeof host === 'string' && Number.isInteger(Number(port)) && Number(port) > 0 && Number(port) < 65_536;
}
