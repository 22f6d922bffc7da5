/** A refusal by the indexer itself, sent as `{"error": message}`. */
export class IndexerRefusal extends Error {
  override readonly name = 'IndexerRefusal';
  readonly status: 404 | 405 | 422 | 500;

  constructor(status: IndexerRefusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * A query string as the indexer's web framework (Fiber on fasthttp) gives it to the handlers, which read it in three
 * ways: `first` and `last` under one exact name, and `values` through the decoder that fills Go structs.
 */
export class Query {
  readonly #parameters: readonly { readonly name: string; readonly value: string }[];

  constructor(raw: string) {
    this.#parameters = raw.split('&').map((piece) => {
      const [name = '', ...value] = piece.split('=');
      return { name: decode(name), value: decode(value.join('=')) };
    });
  }

  /** The first value under exactly this name (`QueryInt`). */
  first(name: string): string | undefined {
    return this.#parameters.find((parameter) => parameter.name === name)?.value;
  }

  /** The last value under exactly this name (`Queries`). */
  last(name: string): string | undefined {
    return this.#parameters.findLast((parameter) => parameter.name === name)?.value;
  }

  /**
   * All values under a name in any case (`QueryParser`). `name[]` is `name`; `name[0]` is `name.0`, which nobody reads. Of
   * several cases of a name the indexer takes one at random, and this one the last. Throws a {@link IndexerRefusal}, 422.
   */
  values(name: string): readonly string[] {
    const fields = this.#parameters.map((parameter) => fieldOf(parameter.name));
    const chosen = fields.findLast((field) => field.toLowerCase() === name);
    return this.#parameters.flatMap(({ value }, at) => (fields[at] === chosen ? [value] : []));
  }
}

function fieldOf(name: string): string {
  if (/\[[^\]]*$/.test(name)) throw new IndexerRefusal(422, 'unmatched brackets');
  return name.replaceAll(/\[(?!\])/g, '.').replaceAll(/[[\]]/g, '');
}

/** As fasthttp: a plus is a space, and a percent sign that no two hex digits follow stays one. */
function decode(encoded: string): string {
  const bytes = encoded
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-fA-F]{2})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
