import { type Accepted, type Coding, type Encoding, IDENTITY_ONLY } from '../content-codings.ts';
import { decodeBody, encodeBody } from './content-coding.ts';
import type { Entry } from './entry.ts';
import {
  ask,
  bodyIn,
  canBeEncoded,
  type Form,
  type Forms,
  giveUpEncoding,
  isAsked,
  keep,
  keptEncoding,
  setBody,
} from './forms.ts';

/** An answer with a shorter lifetime is only encoded when its encoding is asked for a second time. */
const LASTING_MS = 10_000;

/** The most bodies that are encoded at once. Beyond it answers are sent as they are. */
const MOST_AT_ONCE = 64;

/** What a `FormMaker` reports. */
export interface FormEvent {
  readonly name: 'encoded';
  readonly encoding: Encoding;
}

export interface FormMakerDependencies {
  /** Called when the codings in which an entry is kept change, or where: and with them the memory it takes. */
  readonly onChange: (entry: Entry) => void;
  readonly report: (event: FormEvent) => void;
}

export interface FormMakerOptions {
  /** The encodings that may be sent. Of those that a client weighs equally, the first is made. */
  readonly encodings: readonly Encoding[];
  /** A shorter body is never encoded. */
  readonly minBytes: number;
}

/** The coding and body of an entry to be stored in Redis. */
export interface StoredForm {
  readonly coding: Coding;
  readonly body: Buffer;
}

/**
 * Chooses the coding in which a client gets an answer, and makes the missing ones: each encoding once for an entry, off
 * the event loop, while the client gets a coding that is there. An entry is kept only in the codings that were asked
 * for: if all clients accept an encoding, in that one alone.
 */
export class FormMaker {
  readonly #dependencies: FormMakerDependencies;
  readonly #options: FormMakerOptions;
  readonly #encoding = new Map<Forms, Promise<StoredForm | undefined>>();
  readonly #decoding = new Map<Forms, Promise<Form | undefined>>();

  constructor(dependencies: FormMakerDependencies, options: FormMakerOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /**
   * The form for a client. A promise if a large body has to be decoded first; `undefined`, or a promise of it, if a
   * body from Redis cannot be decoded.
   */
  of(entry: Entry, accepted: Accepted): Form | undefined | Promise<Form | undefined> {
    if (accepted === IDENTITY_ONLY || !this.#mayBeEncoded(entry.forms)) return this.#identity(entry);
    let isMade = false;
    for (const codings of accepted) {
      let best: Encoding | undefined;
      // Make no arrays here: this runs on each hit.
      for (const encoding of this.#options.encodings) {
        if (!codings.includes(encoding)) continue;
        if (entry.forms[encoding] !== undefined) return this.#kept(entry, encoding);
        best ??= encoding;
      }
      if (best !== undefined && !isMade) this.#want(entry, best);
      isMade ||= best !== undefined;
      if (best === undefined && codings.includes('identity')) break;
    }
    // The identity form is sent only until the encoding is made. It does not count as asked for, so that it is not
    // kept.
    if (entry.forms.identity !== undefined && isMade && canBeEncoded(entry.forms)) return this.#form(entry, 'identity');
    return this.#identity(entry);
  }

  /**
   * The form of an entry for Redis: encoded if its lifetime is 10 s or more, so that no other instance has to encode
   * it.
   */
  async toStore(entry: Entry): Promise<StoredForm> {
    const { forms, lifetime } = entry;
    const kept = this.#stored(forms);
    const [encoding] = this.#options.encodings;
    const isWorthwhile = lifetime >= LASTING_MS && this.#mayBeEncoded(forms) && canBeEncoded(forms);
    if (kept.coding !== 'identity' || encoding === undefined || !isWorthwhile) return kept;
    return (await this.#encode(entry, encoding)) ?? this.#stored(forms);
  }

  /** Keeps a body in other memory: the same bytes, behind the head of a hit. */
  move(entry: Entry, coding: Coding, body: Buffer): void {
    setBody(entry.forms, coding, body);
    this.#dependencies.onChange(entry);
  }

  /** The number of bodies that are being encoded. */
  get pending(): number {
    return this.#encoding.size;
  }

  #stored(forms: Forms): StoredForm {
    const coding = keptEncoding(forms) ?? 'identity';
    return { coding, body: bodyIn(forms, coding) as Buffer };
  }

  #mayBeEncoded({ bytes }: Forms): boolean {
    return bytes >= this.#options.minBytes && this.#options.encodings.length > 0;
  }

  #kept(entry: Entry, coding: Coding): Form {
    ask(entry.forms, coding);
    return this.#form(entry, coding);
  }

  #form({ forms }: Entry, coding: Coding): Form {
    return { coding, body: bodyIn(forms, coding) as Buffer, varies: this.#mayBeEncoded(forms) };
  }

  #want(entry: Entry, encoding: Encoding): void {
    const wasAsked = ask(entry.forms, encoding);
    if (canBeEncoded(entry.forms) && (wasAsked || entry.lifetime >= LASTING_MS)) void this.#encode(entry, encoding);
  }

  /** Makes one encoding of an entry at a time; `undefined` when that failed or did not make the body smaller. */
  #encode(entry: Entry, encoding: Encoding): Promise<StoredForm | undefined> {
    const { forms } = entry;
    const underWay = this.#encoding.get(forms);
    if (underWay !== undefined) return underWay;
    if (this.#encoding.size >= MOST_AT_ONCE) return Promise.resolve(undefined);
    const encoded = this.#encodeNow(entry, encoding)
      .catch(() => undefined)
      .finally(() => this.#encoding.delete(forms));
    this.#encoding.set(forms, encoded);
    return encoded;
  }

  async #encodeNow(entry: Entry, encoding: Encoding): Promise<StoredForm | undefined> {
    const { forms } = entry;
    const { onChange, report } = this.#dependencies;
    const { coding, body } = this.#stored(forms);
    const identity =
      bodyIn(forms, 'identity') ?? (coding === 'identity' ? body : await decodeBody(coding, body, forms.bytes));
    if (identity === undefined) return undefined;
    const encoded = await encodeBody(encoding, identity);
    report({ name: 'encoded', encoding });
    if (encoded.length >= identity.length) {
      giveUpEncoding(forms);
      return undefined;
    }
    if (isAsked(forms, encoding)) {
      keep(forms, encoding, encoded);
      onChange(entry);
    }
    return { coding: encoding, body: encoded };
  }

  #identity(entry: Entry): Form | undefined | Promise<Form | undefined> {
    const { forms } = entry;
    if (forms.identity !== undefined) return this.#kept(entry, 'identity');
    const underWay = this.#decoding.get(forms);
    if (underWay !== undefined) return underWay;
    const encoding = keptEncoding(forms);
    const encoded = encoding && bodyIn(forms, encoding);
    if (encoding === undefined || encoded === undefined) return undefined;
    const identity = decodeBody(encoding, encoded, forms.bytes);
    if (!(identity instanceof Promise)) return this.#decoded(entry, identity);
    const decoding = identity.then((body) => this.#decoded(entry, body)).finally(() => this.#decoding.delete(forms));
    this.#decoding.set(forms, decoding);
    return decoding;
  }

  #decoded(entry: Entry, identity: Buffer | undefined): Form | undefined {
    if (identity === undefined) return undefined;
    ask(entry.forms, 'identity');
    keep(entry.forms, 'identity', identity);
    this.#dependencies.onChange(entry);
    return this.#kept(entry, 'identity');
  }
}
