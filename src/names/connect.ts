import { connect, type Socket } from 'node:net';
import { isShortage } from '../shortage.ts';
import type { Ms } from '../time-units.ts';
import type { Names } from './names.ts';

/** Recommended by RFC 8305, section 5. */
const NEXT_ATTEMPT_MS: Ms = 250;

/** The host to connect to, and the timeout including the look-up. */
export interface Destination {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: Ms;
}

/** An open connection, and its address. */
export interface Connected {
  readonly socket: Socket;
  readonly address: string;
}

/**
 * Connects to a host by its name. Its addresses are tried as in RFC 8305: when an attempt has failed or is 250 ms old,
 * the next one begins, earlier attempts continue, and the first connection counts. (Node gives up an attempt after 250
 * ms, and so never reaches a host that is further away.) If remembered addresses fail, the resolver is asked once more,
 * so that no request fails because of a changed address. Rejects with the error of the resolver or of the connections.
 */
export function connectByName(names: Names, destination: Destination): Promise<Connected> {
  return new Connecting(names, destination).connected;
}

class Connecting {
  readonly #names: Names;
  readonly #to: Destination;
  readonly #outcome = Promise.withResolvers<Connected>();
  readonly #deadline: NodeJS.Timeout;
  /** By tried address. */
  readonly #failures = new Map<string, Error>();
  /** With their addresses. */
  readonly #underWay = new Map<Socket, string>();
  #untried: string[] = [];
  #mayHaveChanged = false;
  #isOver = false;
  #nextAttempt: NodeJS.Timeout | undefined;

  constructor(names: Names, destination: Destination) {
    this.#names = names;
    this.#to = destination;
    const { host, port, timeoutMs } = destination;
    const timedOut = Object.assign(new Error(`connect ETIMEDOUT ${host}:${port}`), { code: 'ETIMEDOUT' });
    this.#deadline = setTimeout(() => {
      for (const address of this.#underWay.values()) names.failed(host, address);
      this.#fail(timedOut);
    }, timeoutMs);
    void this.#find();
  }

  get connected(): Promise<Connected> {
    return this.#outcome.promise;
  }

  async #find(): Promise<void> {
    try {
      const { addresses, isRemembered } = await this.#names.find(this.#to.host);
      this.#untried = addresses.map(({ address }) => address).filter((address) => !this.#failures.has(address));
      this.#mayHaveChanged = isRemembered && this.#untried.length > 0;
      this.#tryNext();
    } catch (error) {
      this.#fail(error);
    }
  }

  #tryNext(): void {
    if (this.#isOver) return;
    clearTimeout(this.#nextAttempt);
    const address = this.#untried.shift();
    if (address !== undefined) {
      this.#try(address);
      this.#nextAttempt = setTimeout(() => this.#tryNext(), NEXT_ATTEMPT_MS);
    } else if (this.#underWay.size === 0) {
      if (this.#mayHaveChanged) void this.#find();
      else this.#fail(failureOf([...this.#failures.values()]));
    }
  }

  #try(address: string): void {
    const socket = connect({ host: address, port: this.#to.port });
    this.#underWay.set(socket, address);
    const failed = (error: Error) => {
      this.#underWay.delete(socket);
      this.#failures.set(address, error);
      if (!isShortage(error)) this.#names.failed(this.#to.host, address);
      this.#tryNext();
    };
    socket.once('error', failed).once('connect', () => {
      socket.off('error', failed);
      this.#underWay.delete(socket);
      this.#end();
      this.#outcome.resolve({ socket, address });
    });
  }

  #fail(error: unknown): void {
    this.#end();
    this.#outcome.reject(error);
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#nextAttempt);
    for (const socket of this.#underWay.keys()) socket.destroy();
  }
}

function failureOf(errors: readonly Error[]): Error {
  const [first] = errors;
  return errors.length === 1 && first !== undefined ? first : new AggregateError(errors, 'no address can be reached');
}
